"""The dashboard: web pages for people. A client of the public API; it keeps nothing but the cookies of a browser."""
