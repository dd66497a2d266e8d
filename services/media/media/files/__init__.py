"""What clients and other services do with files."""
