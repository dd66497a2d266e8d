"""HTTP to other servers: addresses, host names, sockets with limits, and three kinds of client."""
