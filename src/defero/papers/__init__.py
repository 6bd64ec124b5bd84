"""Reproductions of published work, one package per paper; loaded only when asked for."""
