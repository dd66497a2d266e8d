"""A service that only stages events, on publishing's database: its outbox, its relay, its commits."""
