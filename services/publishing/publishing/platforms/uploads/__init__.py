"""How files reach platforms: streamed from our storage, in pieces, in a form, or uploaded before the post."""
