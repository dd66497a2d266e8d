"""Makes sample photos, sample films and a few broken files on request. The repository contains none of them."""
