"""The service that calls the social platforms: linked pages, posts, comments and engagement."""
