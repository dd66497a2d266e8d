"""Logins: people, their consent and their tokens. Each platform's module has its own routes."""
