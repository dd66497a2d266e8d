"""Logins: who somebody is, what they allow, and the tokens that come of it. The addresses are each platform's."""
