"""Fixtures and tools that the tests and benchmarks of all packages share. No service imports it, and no image contains
it.
"""
