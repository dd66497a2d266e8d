"""Pure rules and figures: no I/O, no SQL, no clock."""
