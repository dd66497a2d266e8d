"""Handles events from the bus: makes their deliveries, and disables the subscriptions of makers who lost access."""
