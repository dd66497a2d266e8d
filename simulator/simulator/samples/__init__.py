"""Sample media drawn on request, and a few files that misbehave. Nothing here is stored as a binary."""
