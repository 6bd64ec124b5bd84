"""Limits on a stream: quotas by day and week, decided case by case as cases arrive."""
