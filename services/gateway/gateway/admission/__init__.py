"""Asks quota whether requests may run, and refunds units of the month's quota."""
