"""Logs of answers, one row per answer, and labels made from them."""
