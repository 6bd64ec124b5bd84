"""Learners of pools: experts of whom scores are known, and no answers or classes."""
