"""/docs: the reference of the API as HTML pages, made from its description; /llms.txt, its table of contents."""
