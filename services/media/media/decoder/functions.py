"""What the confined processes do: the functions `AppContext.workshop` runs."""

from media.decoder.films import inspect as inspect_film
from media.decoder.pictures import inspect as inspect_picture
from media.decoder.pictures import make_jpeg

__all__ = ["inspect_film", "inspect_picture", "make_jpeg"]
