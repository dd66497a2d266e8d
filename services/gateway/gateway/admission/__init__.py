"""Asks quota whether requests may run, and refunds month units."""
