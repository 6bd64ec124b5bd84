"""How good a team is on cases that it has not seen: which these are, figures, comparisons, the page."""
