"""Locks, advisories, digests of images, bills of materials."""
