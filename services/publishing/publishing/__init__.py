"""Pages, posts, comments and engagement: everything that talks to the social platforms."""
