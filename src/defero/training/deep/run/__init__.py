"""A training run: its state, checkpoints, log and seeds."""
