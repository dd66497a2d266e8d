"""Sends due deliveries to their endpoints and records the outcomes."""
