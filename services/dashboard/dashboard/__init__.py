"""The dashboard: screens for people in a browser. A client of the public API; it stores nothing."""
