"""Jobs: images, videos and captions that clients ask for, and the background work on them."""
