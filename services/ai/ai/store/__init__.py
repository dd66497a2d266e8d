"""All SQL of the AI service, by noun."""
