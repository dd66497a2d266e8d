"""The service's side of inspecting uploaded files and making renditions. Sandboxed processes read the bytes
(`decoder/`)."""
