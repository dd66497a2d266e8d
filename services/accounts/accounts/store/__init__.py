"""All SQL of the service, one file a noun: concrete classes over an open connection, contract records out.

`Connection` is what use cases hand from the transaction to the stores; they do nothing else with it.
"""

from sqlalchemy import Connection

__all__ = ["Connection"]
