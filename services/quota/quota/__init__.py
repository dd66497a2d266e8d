"""The quota service: counts each account's requests and units, and refuses those over a limit."""
