"""The webhooks service: delivers every event, signed, to the subscriptions that want it, and logs each attempt."""
