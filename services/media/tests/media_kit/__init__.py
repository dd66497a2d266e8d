"""What the tests of the media service share: sample files, and the service and its use cases."""
