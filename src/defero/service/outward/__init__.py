"""What the service sends to others."""
