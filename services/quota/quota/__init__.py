"""The quota service: who may still do how much in this minute, day and month."""
