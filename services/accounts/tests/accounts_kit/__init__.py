"""What tests of accounts share."""
