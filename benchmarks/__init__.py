"""Speed, measured beside a plain formulation in the same run."""
