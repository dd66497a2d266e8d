"""All SQL of the media service, by noun."""
