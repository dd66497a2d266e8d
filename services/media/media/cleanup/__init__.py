"""Background clean-up of objects and rows that are no longer needed."""
