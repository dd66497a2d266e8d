"""The Model Context Protocol (MCP): `POST /mcp` offers operations of the API as tools to AI assistants.

Each tool is an endpoint: a call runs through the same pipeline, with the same token, scopes, limits and idempotency.
"""
