"""Tools of the tests under faults: connections that fail, clocks that are wrong, recorded figures."""
