"""Limits for a batch: capacity, a largest share of questions, and money."""
