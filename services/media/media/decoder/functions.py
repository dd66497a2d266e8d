"""The functions that sandboxed processes run (`AppContext.sandbox_pool`)."""

from media.decoder.images import inspect_image, make_jpeg
from media.decoder.videos import check_video

__all__ = ["check_video", "inspect_image", "make_jpeg"]
