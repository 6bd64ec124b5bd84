"""Which data sets there are: sources, checksums, presence on disk."""
