"""Bytes of requests and answers: bodies, multipart, ranges, addresses, JSON. Knows no service and no endpoint."""
