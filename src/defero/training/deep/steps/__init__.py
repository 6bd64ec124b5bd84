"""Optimisers, schedules and averages of the weights."""
