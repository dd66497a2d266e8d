"""Alembic's environment script for every service: runs the service's migrations on the connection of `chassis.migrate`."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
