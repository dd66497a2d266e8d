"""What removes objects and rows that are not needed any more."""
