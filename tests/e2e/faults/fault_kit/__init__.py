"""Tools of the tests under faults: connections that fail, clocks that are wrong, and a record of measured figures."""
