"""The HTTP API: finds a token's caller, admits requests, keeps idempotency keys, and calls the services.

It has no business rules and reads no other service's tables.
"""

#: The API's version (spec "Versioning"), as /openapi.json says.
API_VERSION = "1.3.0"
#: Every path of the spec is below it.
BASE_PATH = "/api/v1"
