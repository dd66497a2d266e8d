"""Generates /openapi.json from the endpoints (`gateway.routes.ENDPOINTS`) and the records of the contracts."""
