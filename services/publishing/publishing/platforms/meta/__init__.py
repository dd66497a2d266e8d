"""What Facebook and Instagram share: no platform of its own, and no row (platforms.md 1)."""
