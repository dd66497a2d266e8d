"""The operator's command line. It calls the services as the gateway does, and contains no business rules."""
