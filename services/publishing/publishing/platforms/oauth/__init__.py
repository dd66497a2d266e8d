"""Linking by OAuth: each platform's login, renewal and giving back of permissions."""
