"""The service's side of inspecting uploaded files. A sandboxed process reads the bytes (`decoder/`)."""
