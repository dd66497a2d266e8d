"""What a running process needs: green threads, worker loops, health checks and gauges."""
