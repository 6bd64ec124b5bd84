"""Rows that a team has seen: their fingerprints, which ones are new, and how many look alike by chance."""
