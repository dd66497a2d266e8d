"""The commands, one file per noun."""
