"""The operator's command line. It calls the services as the gateway does, and has no rules of its own."""
