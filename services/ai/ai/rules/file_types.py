"""What a file is by its leading bytes. No I/O: the media service opens every file that is kept."""

#: What every provider takes as a reference (Gemini takes no GIF). Our choice.
REFERENCE_TYPES = ("image/jpeg", "image/png", "image/webp")

_SIGNATURES = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"))
#: For the names files are stored under.
ENDINGS = {"image/jpeg": "jpg", "image/png": "png", "image/webp": "webp", "video/mp4": "mp4"}


def mime_type_of(head: bytes) -> str | None:
    """JPEG, PNG, WebP or MP4; None for anything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:8] == b"ftyp" and head[8:12] != b"qt  ":
        return "video/mp4"
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)
