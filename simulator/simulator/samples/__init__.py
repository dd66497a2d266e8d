"""Sample media, made on request, and a few broken files. No binary file is checked in."""
