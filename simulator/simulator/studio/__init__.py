"""Makes pictures, films and captions for the simulated AI providers. Each provider's package parses
its own requests.
"""
