"""The versions of the Graph API, and the paths that name them.

Meta keeps a version for at least two years. It answers calls to an older version, or without a version, with the
oldest that it still has (https://developers.facebook.com/docs/graph-api/guides/versioning). It takes any other first
segment of the path, such as a future or misspelled version, for the id of an object: error 2500 (arsduo/koala issue
611 and flarum, both with a misspelled version). The supported versions are those of November 2026: v26.0 came on 29
July 2026, v20.0 ended on 24 September 2026 and v21.0 ends on 21 January 2027, as public clients quote
https://developers.facebook.com/docs/graph-api/changelog/versions.
"""

import re

from simulator.meta.errors import GraphError

OLDEST, NEWEST = "v21.0", "v26.0"
_VERSION = re.compile(r"v(\d{1,3})\.(\d{1,2})")
#: The only versions with more than one minor number: v2.0 to v2.12, v3.0 to v3.3.
_MINORS = {2: 12, 3: 3}


def of(text: str) -> str | None:
    """Returns the version that answers a call to the version `text`: `text` itself or the oldest supported one.
    Returns None if `text` is not the name of a version.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2])
    if not 1 <= major <= _major(NEWEST) or minor > _MINORS.get(major, 0):
        return None
    return text if major >= _major(OLDEST) else OLDEST


def split(path: str) -> tuple[str, list[str]]:
    """Returns the version that answers a call to this path, and the path's other segments. Raises GraphError 2500 if
    the first segment looks like a version but is none.
    """
    parts = [part for part in path.split("/") if part]
    version = of(parts[0]) if parts else None
    if version is not None:
        return version, parts[1:]
    if parts and re.match(r"v?\d+\.", parts[0]):
        raise GraphError(2500, f"Unknown path components: /{'/'.join(parts[1:])}")
    return OLDEST, parts


def _major(version: str) -> int:
    return int(version[1:].partition(".")[0])
