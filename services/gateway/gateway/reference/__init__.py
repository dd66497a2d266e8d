"""The API reference at /docs: HTML pages made from the OpenAPI description; and /llms.txt, its table of contents."""
