"""Callers of the simulator, as its tests play them."""
