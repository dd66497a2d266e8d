"""Asks the service `quota` whether requests may run, and asks it to refund units of monthly counters."""
