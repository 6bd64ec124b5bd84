"""Networks: which one is chosen, and how small and deep ones are fitted."""
