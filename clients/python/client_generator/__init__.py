"""Writes the generated modules of the Python and the Node client: `python -m client_generator`, or ./dev clients."""
