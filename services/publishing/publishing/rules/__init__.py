"""Pure rules: they compute an answer from their arguments, without I/O and clock."""
