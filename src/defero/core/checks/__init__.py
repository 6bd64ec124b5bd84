"""Checks at the public edge: arrays, answers of experts, options."""
