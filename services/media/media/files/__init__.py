"""What clients and other services do with files: upload, list, delete, attach, download."""
