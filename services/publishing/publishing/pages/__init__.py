"""Pages: listed, linked by OAuth, checked, renewed, expired and unlinked."""
