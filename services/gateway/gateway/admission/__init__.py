"""Asks the service `quota` whether requests may run, and has units of monthly counters refunded."""
