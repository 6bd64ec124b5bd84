"""The commands, one file each, thin. Each imports what it needs when it runs, so that `--help` needs none of them."""
