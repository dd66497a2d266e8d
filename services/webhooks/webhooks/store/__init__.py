"""All SQL of the webhooks service, by noun."""
