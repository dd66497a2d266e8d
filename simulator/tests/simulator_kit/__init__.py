"""Clients of the simulator for its tests."""
