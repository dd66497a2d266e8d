"""Signing secrets at rest, signatures, and the private networks that URLs may lead to."""
