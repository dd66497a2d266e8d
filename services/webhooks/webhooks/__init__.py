"""The service webhooks: delivers every event, signed, to the subscriptions that want it, and logs each attempt."""
