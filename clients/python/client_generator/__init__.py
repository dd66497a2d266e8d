"""Writes the generated modules of the Python client: `python -m client_generator`, or ./dev clients."""
