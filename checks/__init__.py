"""Checks that are no tests: the size of the sources, versions with known flaws, the lowest supported versions."""
