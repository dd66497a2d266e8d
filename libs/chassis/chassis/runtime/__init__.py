"""What a process needs while it runs: green threads, worker loops, health and gauges."""
