"""The functions that sandboxed processes run (`AppContext.sandbox_pool`)."""

from media.decoder.images import inspect_image, make_jpeg

__all__ = ["inspect_image", "make_jpeg"]
