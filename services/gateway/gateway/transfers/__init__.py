"""Files on their way in and out: object storage, and limits on how many go at once."""
