"""One stack: the table of our processes, and starting and stopping them."""
