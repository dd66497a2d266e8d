"""What the end-to-end tests look through: HTTP, the operator's command line, the simulator, the processes.

Nothing of a service, the chassis or the contracts is imported here.
"""
