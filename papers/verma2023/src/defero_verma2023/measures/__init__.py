"""What one network says of its test items, and every number that the figures show of it."""
