"""Simulates the HTTP APIs of the social platforms, the AI providers and Stripe, for local stacks and tests. No service
imports this package, and it imports no service.
"""
