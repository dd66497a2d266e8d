"""Idempotency keys, their table, and the answers kept for repetitions."""
