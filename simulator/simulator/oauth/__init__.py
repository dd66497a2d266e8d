"""The OAuth logins of the simulated platforms: people, their consent and their tokens. Each platform's module has the
routes.
"""
