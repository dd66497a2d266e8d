"""Sample photos and films, made when they are requested, and a few broken files. No binary file is in the repository.
"""
