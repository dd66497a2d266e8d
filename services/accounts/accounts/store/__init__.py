"""All SQL of the accounts service, one file for each kind of row. Each store is a class over an open connection.

Stores return records of contracts. Use cases only hand a `Connection` from the transaction to the stores.
"""

from sqlalchemy import Connection

__all__ = ["Connection"]
