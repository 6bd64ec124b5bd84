"""Who may do what: tokens, signed links and sessions, the limits of rate and size, and the headers of every reply."""
