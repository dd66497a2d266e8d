"""The ways in which the bytes of a file are sent to a platform.

`sources` streams a file from our storage. `pieces` cuts the stream into the pieces of a resumable upload. `multipart`
sends a file as a part of a multipart form. `staged_files` uploads a post's files before the post is made.
"""
