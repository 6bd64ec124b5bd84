"""REST under /v1: one file for each resource, the errors in one shape, and the application that holds them."""
