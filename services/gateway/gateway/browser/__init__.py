"""Pages for people: their HTML and words, and the cookie that binds an OAuth login to one browser."""
