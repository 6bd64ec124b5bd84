"""Pictures of results: each function or display takes what was found and returns matplotlib Axes."""
