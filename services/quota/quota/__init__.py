"""The quota service: counts each account's requests and units per minute, day and month, and refuses those over a
limit.
"""
