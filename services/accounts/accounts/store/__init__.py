"""All SQL of the accounts service, one file for each kind of row. Each store is a class over an open connection.

Stores return records of contracts. `Connection` is what use cases hand from the transaction to the stores; they do
nothing else with it.
"""

from sqlalchemy import Connection

__all__ = ["Connection"]
