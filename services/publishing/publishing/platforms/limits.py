"""Stub until the platform engineer's file lands."""


def check_content(*args, **kwargs):
    return ()
