"""Linking by OAuth: each platform's login, and the renewal and revocation of the permissions it grants."""
