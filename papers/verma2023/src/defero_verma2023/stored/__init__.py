"""What the paper's authors stored of their runs, and how it is measured again."""
