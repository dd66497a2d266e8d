"""`./dev test` and `./dev bench`: servers or a stack for one run."""
