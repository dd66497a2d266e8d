"""Accounts and how they come to be: sign-up, invites, verification of the e-mail address, passwords."""
