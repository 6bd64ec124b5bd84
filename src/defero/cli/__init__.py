"""The commands, one file each, thin. Each imports its rooms when it runs, so that `--help` needs none of them."""
