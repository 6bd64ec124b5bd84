"""Texts as vectors of numbers by a fixed encoder: found by name, cached, never trained."""
