"""The media service: stores files, makes renditions of them, and records to which posts they are attached."""
