"""Other people's programs that a stack needs: PostgreSQL, RabbitMQ, S3 and, for tests, more."""
