"""The media service: files, the storage they use, and the posts they are attached to."""
