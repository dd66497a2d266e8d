"""Code of running processes: green threads, worker loops, health checks and gauges."""
