"""The infrastructure of all services: messages, database, HTTP, telemetry, sandbox. No business rules."""
