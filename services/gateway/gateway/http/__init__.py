"""Reads requests and writes answers: bodies, multipart, ranges, addresses, JSON. Knows no service and no endpoint."""
