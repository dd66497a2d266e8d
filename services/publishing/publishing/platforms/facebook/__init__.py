"""Facebook Pages over the Graph API (platforms.md 2): publishing in `connector`, what is out in `reading`."""
