"""/openapi.json, generated from the endpoint rows and the contracts' records."""
