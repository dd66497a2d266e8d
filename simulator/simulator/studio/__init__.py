"""Makes the pictures, films and captions of the simulated AI providers. Each provider's package parses its own
requests.
"""
