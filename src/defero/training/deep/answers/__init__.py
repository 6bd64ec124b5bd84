"""Experts' answers as a training run sees them."""
