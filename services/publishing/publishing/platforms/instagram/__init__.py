"""Instagram over the Graph API (platforms.md 3): publishing in `connector`, what is out in `reading`."""
