"""Finds out whose token a request has, and counts the use of tokens."""
