"""`./dev demo`: walks the main journey through the API, and fills the demo account."""
