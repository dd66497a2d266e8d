"""Lists the functions that sandboxed processes run (`AppContext.sandbox_pool`)."""

from media.decoder.film_notes import blank_notes
from media.decoder.images import inspect_image
from media.decoder.renditions import make_picture

__all__ = ["blank_notes", "inspect_image", "make_picture"]
