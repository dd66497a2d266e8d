"""Lists the functions that sandboxed processes run (`AppContext.sandbox_pool`)."""

from media.decoder.camcorder_notes import blank_camcorder_notes
from media.decoder.images import inspect_image
from media.decoder.renditions import make_picture

__all__ = ["blank_camcorder_notes", "inspect_image", "make_picture"]
