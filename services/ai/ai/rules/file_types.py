"""Detects a file's type from its first bytes. Pure. The media service checks every stored file thoroughly."""

#: Reference types that every provider accepts (Gemini accepts no GIF).
REFERENCE_TYPES = ("image/jpeg", "image/png", "image/webp")

_SIGNATURES = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"))
#: The extensions of stored files.
EXTENSIONS = {"image/jpeg": "jpg", "image/png": "png", "image/webp": "webp", "video/mp4": "mp4"}


def detect_mime_type(head: bytes) -> str | None:
    """Returns the MIME type of a JPEG, PNG, WebP or MP4 file that begins with `head`; None for anything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:8] == b"ftyp" and head[8:12] != b"qt  ":
        return "video/mp4"
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)
