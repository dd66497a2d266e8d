"""The dashboard: web pages for people. A client of the public API; it stores nothing."""
