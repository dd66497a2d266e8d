"""Credits: balances, auto-refill, notifications of the payment provider, and clawbacks."""
