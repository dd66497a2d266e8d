"""The webhooks service: delivers every event signed, and logs each attempt."""
