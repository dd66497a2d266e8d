"""What the tests of publishing share: a platform, a media service and short ways to what tests do again and again."""
