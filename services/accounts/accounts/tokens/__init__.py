"""API tokens: creates, rotates, revokes and checks them."""
