"""Who a token belongs to, and when it was used."""
