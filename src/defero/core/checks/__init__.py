"""Checks at the public edge: arrays, scores, options."""
