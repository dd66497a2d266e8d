"""Events from the bus: the deliveries they make, and the subscriptions that lost access."""
