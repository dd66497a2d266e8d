"""The runner behind `./dev`: runs real servers, all services and the tests on one machine, without a container engine.

It starts, watches and stops processes. It has no business rules, and no service imports it.
"""
