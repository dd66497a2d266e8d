"""Accounts and signing in: sign-up, sessions, passwords and the second factor. Outside the base path."""
