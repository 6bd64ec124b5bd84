"""Deciding the cases of a file: what is read, what must be known of the whole file, and the table of decisions."""
