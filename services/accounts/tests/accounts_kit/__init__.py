"""Code that several tests of accounts share."""
