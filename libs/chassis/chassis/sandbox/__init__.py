"""Work on untrusted bytes in separate processes that may not read files, use the network or start programs."""
