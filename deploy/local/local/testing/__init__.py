"""`./dev test` and `./dev bench`: start servers or a stack for one run."""
