"""Everything between a service and RabbitMQ: calls, events, and who signed them."""
