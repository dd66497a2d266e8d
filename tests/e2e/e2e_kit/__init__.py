"""Tools of the end-to-end tests: clients of the API, of the operator's command line and of the simulator, and
functions that control the stack's processes.

Only `attacks` imports code of a service (the dashboard's list of routes, for example), and nothing imports chassis.
"""
