"""Comments under published posts: reading them, replying, and receiving them by polls and webhooks."""
