"""Sample photos and films, made when they are requested, and a few broken files. None is a file in the repository."""
