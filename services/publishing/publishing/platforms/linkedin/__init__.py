"""LinkedIn over its versioned REST API (docs/platforms.md, section 4): `connector` publishes; `reading` reads and
writes comments, and reads profiles and the numbers of reactions and comments.
"""
