"""Comments under published posts: read, answered, polled and received by webhook."""
