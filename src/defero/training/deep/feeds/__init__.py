"""Batches for deep nets: from memory, from the device, from disk."""
