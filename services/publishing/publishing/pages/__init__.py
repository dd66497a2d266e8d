"""Linked pages: listing, linking by OAuth, checking, renewing, expiry and unlinking."""
