"""Credits: balances, auto-refill, calls of the payment provider, and clawbacks."""
