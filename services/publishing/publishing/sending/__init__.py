"""Sending posts: due posts, attempts, their outcomes, reconciliation, first comments."""
