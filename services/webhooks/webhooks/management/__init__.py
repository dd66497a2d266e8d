"""What owners of subscriptions ask for: subscriptions, secrets, the delivery log, tests and replays."""
