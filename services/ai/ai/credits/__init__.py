"""Credits in the database: balances, auto-refill, payments' calls and clawbacks."""
