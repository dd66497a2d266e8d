"""How files reach platforms: from our storage, in pieces, in a form, or before the post."""
