"""`./dev bench scale`: measures what each operation costs with five million posts, compared with small tables."""
