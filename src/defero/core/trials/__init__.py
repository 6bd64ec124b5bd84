"""What a team did on held-out cases: one way of asking, or all of them side by side."""
