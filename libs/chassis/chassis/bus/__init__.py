"""Everything between a service and RabbitMQ: calls, events, and the signatures that prove their senders."""
