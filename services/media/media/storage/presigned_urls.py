"""Presigned URLs that fix the size of an upload, as minio's do not (AWS Signature Version 4, query form). Pure."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import quote, urlsplit

from media.config import Settings

_ALGORITHM = "AWS4-HMAC-SHA256"


def presign_put(
    url: str, query: Mapping[str, str], size_bytes: int, keys: Settings, at: datetime, valid_for: timedelta
) -> str:
    """Returns a URL for putting exactly `size_bytes` bytes to `url` (unquoted). `at`: the present real time in UTC."""
    parts = urlsplit(url)
    day, stamp = at.strftime("%Y%m%d"), at.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{day}/{keys.region}/s3/aws4_request"
    asked = {
        **query,
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{keys.access_key}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(int(valid_for.total_seconds())),
        "X-Amz-SignedHeaders": "content-length;host",
    }
    path = quote(parts.path)
    asked_line = "&".join(f"{quote(key, safe='')}={quote(asked[key], safe='')}" for key in sorted(asked))
    headers = f"content-length:{size_bytes}\nhost:{parts.netloc}\n"
    request = "\n".join(["PUT", path, asked_line, headers, asked["X-Amz-SignedHeaders"], "UNSIGNED-PAYLOAD"])
    to_sign = "\n".join([_ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{keys.secret_key}".encode()
    for step in (day, keys.region, "s3", "aws4_request"):
        key = hmac.digest(key, step.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    return f"{parts.scheme}://{parts.netloc}{path}?{asked_line}&X-Amz-Signature={signature}"
