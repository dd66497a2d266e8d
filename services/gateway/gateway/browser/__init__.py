"""HTML pages that people see in a browser, and the cookie that binds an OAuth login to one browser."""
