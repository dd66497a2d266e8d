"""The media service: files, the storage they take, and what they are attached to."""
