"""The pages of the reproduction: README.md and conformal.md."""
