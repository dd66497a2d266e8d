"""Requests of attackers: with ids of other accounts, with URLs into our own network, and with texts that contain
scripts.
"""
