"""Pure rules: data in, answer out. No I/O, no clock."""
