"""Code that several tests of the gateway share."""
