"""Code that tests of publishing share: a platform, a media service, and functions for frequent steps."""
