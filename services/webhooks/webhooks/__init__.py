"""The webhooks service: every event arrives, signed, or is in the log."""
