"""The collector of cycles, told what a server's life is like: much stays for good, little goes in circles."""

import gc

#: Objects made and not freed before the young are looked through, and how many such looks before the older ones are.
#: Our choice: a list of 25 records lives for a millisecond, and Python's own 700 would look through it seven times
#: before it is gone. A cycle lives longer by what 10,000 objects weigh, a megabyte or two.
_THRESHOLDS = 10_000, 10, 10


def settle() -> None:
    """Called once everything is loaded: it is looked through now and never again, and what comes later less often.

    Before a fork too, so that a child's collector leaves the pages alone which it shares with its parent (17 MB each).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
