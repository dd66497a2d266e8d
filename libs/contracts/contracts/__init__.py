"""Everything that services exchange: records, RPC methods, events, errors, plans and limits.

No I/O, no transport, and no third-party import except msgspec.
"""
