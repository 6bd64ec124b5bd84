"""The scikit-learn surface: `fit` learns, and hands what it learned to a `Team`."""
