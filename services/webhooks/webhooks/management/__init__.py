"""Serves the calls of subscriptions' owners: subscriptions, secrets, the delivery log, tests and replays."""
