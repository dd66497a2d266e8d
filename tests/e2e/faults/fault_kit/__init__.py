"""What the tests under faults look through: links that fail, clocks that are wrong, figures that are kept."""
