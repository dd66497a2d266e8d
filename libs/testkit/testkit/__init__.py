"""Fixtures and tools of the tests and benchmarks. No service imports it, and no image contains it."""
