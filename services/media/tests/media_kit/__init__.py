"""Code that tests of the media service share: sample files, the running service, and its use cases."""
