"""The runner behind `./dev`: real servers, every service and the tests on one machine, no container engine.

Holds what starts, watches and stops processes; holds no business rules and is imported by no service.
"""
