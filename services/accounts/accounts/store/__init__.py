"""All SQL of the accounts service, one file for each kind of row. Each store is a class over an open connection.

Stores return records of contracts. Use cases run no SQL themselves: they only pass a `Connection` on.
"""

from sqlalchemy import Connection

__all__ = ["Connection"]
