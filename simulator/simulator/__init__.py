"""A stand-in for the social platforms' HTTP APIs. No service imports it and it imports no service."""
