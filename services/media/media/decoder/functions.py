"""The functions that sandboxed processes run (`AppContext.sandbox_pool`)."""

from media.decoder.images import inspect_image, make_jpeg
from media.decoder.videos import inspect_video

__all__ = ["inspect_image", "inspect_video", "make_jpeg"]
