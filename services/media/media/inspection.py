"""What the confined processes do: the functions `House.workshop` runs."""

from media.films import inspect as inspect_film
from media.pictures import inspect as inspect_picture
from media.pictures import make_jpeg

__all__ = ["inspect_film", "inspect_picture", "make_jpeg"]
