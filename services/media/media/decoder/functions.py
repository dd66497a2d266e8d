"""The functions that sandboxed processes run (`AppContext.sandbox_pool`)."""

from media.decoder.images import inspect_image
from media.decoder.renditions import make_picture

__all__ = ["inspect_image", "make_picture"]
