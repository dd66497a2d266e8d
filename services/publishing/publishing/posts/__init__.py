"""Use cases of posts: schedule, publish now, edit, cancel, retry, hold, list, validate."""
