"""The documentation site: what mkdocs generates beside docs/, and the checks of the built pages."""
