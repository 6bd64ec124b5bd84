"""Confidence intervals and paired tests."""
