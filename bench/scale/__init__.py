"""`./dev bench scale`: what each operation costs with five million posts, beside the same on small tables."""
