"""The request log: which requests an account made and how they ended, and how many it made on each day."""
