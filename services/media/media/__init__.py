"""The service media: stores files, makes renditions of them, and knows to which posts they are attached."""
