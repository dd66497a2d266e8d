"""Code that tests of publishing share: fakes of a platform and of the media service, and frequent steps."""
