"""Money as a user gives it: fees by name, file or column, and costs of errors by file."""
