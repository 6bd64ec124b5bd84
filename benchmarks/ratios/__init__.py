"""What each operation costs beside a plain formulation in the same run, and how costs grow with rows and experts."""
