"""Clients of the end-to-end tests: HTTP, the operator's command line, the simulator, the stack's processes.

No code of a service or of the chassis is imported here.
"""
