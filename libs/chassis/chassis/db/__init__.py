"""Everything between a service and PostgreSQL: connections, transactions, leases, operations and the shared tables."""
