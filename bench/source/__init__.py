"""A service that only stages events. It works on publishing's database, so that its events take publishing's outbox
and relay.
"""
