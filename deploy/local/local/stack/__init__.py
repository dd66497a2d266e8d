"""One stack: our processes as data, and its life."""
