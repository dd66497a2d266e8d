"""The service's side of checking an uploaded file; the bytes are read in a sandboxed process."""
