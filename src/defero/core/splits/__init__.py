"""Disjoint parts of rows: by row, by group, by time."""
