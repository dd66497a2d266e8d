"""What Facebook and Instagram share (platforms.md 1). Not a platform of its own."""
