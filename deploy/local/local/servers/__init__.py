"""The programs that a stack needs and that are not ours: PostgreSQL, RabbitMQ, S3 and, for tests, more."""
