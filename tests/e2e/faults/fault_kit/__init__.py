"""Tools of the tests under faults: links that fail, clocks that are wrong, recorded figures."""
