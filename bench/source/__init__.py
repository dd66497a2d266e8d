"""A service that only stages events. It runs on publishing's database, so that publishing's relay sends its events."""
