"""Sample photos and films, made when they are requested, and a few broken files. The repository has no binary file."""
