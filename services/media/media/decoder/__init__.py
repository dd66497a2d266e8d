"""Everything that reads a stranger's bytes: runs in sandboxed processes."""
