"""Pages, posts, comments and engagement: the service that calls the social platforms."""
