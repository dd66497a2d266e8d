"""Lock files, security advisories, digests of images, and bills of materials."""
