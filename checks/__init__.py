"""Checks of what defero rests on: versions with known flaws, and the lowest versions that it says it supports."""
