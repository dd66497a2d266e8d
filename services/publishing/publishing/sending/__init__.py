"""Sending posts: due posts, one attempt at a post, its outcome, reconciliation, first comments."""
