"""Studies of pools: experts of whom scores are known, and no classes."""
