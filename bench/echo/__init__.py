"""A service that returns its request. One call of it through chassis is part of the floor F1 (`bench/floors.py`)."""
