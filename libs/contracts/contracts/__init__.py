"""What the services say to each other: records, RPC surfaces, events, errors, plans and limits.

No I/O and no third-party import other than msgspec. Nothing here knows how a message travels.
"""
