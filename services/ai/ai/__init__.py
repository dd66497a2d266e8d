"""The AI service: the credit ledger and the jobs that credits pay for."""
