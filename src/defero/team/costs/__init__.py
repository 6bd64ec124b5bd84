"""A team under fees, costs of errors and limits: next steps, assignments, and what if they were others."""
