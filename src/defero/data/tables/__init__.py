"""Tables on disk: one file per format, columns and cells as they were written."""
