"""Alembic's entry for every service: the versions are the service's, the connection comes from `chassis.migrate`."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
