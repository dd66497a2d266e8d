"""Idempotency keys, their table, and the stored answers for repeated requests."""
