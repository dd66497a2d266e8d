"""The Posthaste API for Python: `Posthaste`, `AsyncPosthaste`, their exceptions, and `posthaste.webhooks`."""

from posthaste.async_client import AsyncPosthaste
from posthaste.client import Posthaste
from posthaste.encoding import UNSET, Unset
from posthaste.errors import (
    AiError,
    ApiError,
    AuthenticationError,
    FieldError,
    IdempotencyError,
    InvalidRequest,
    LimitReached,
    MediaError,
    NoAnswer,
    OutcomeUnknown,
    PermissionDenied,
    PlatformError,
    PosthasteError,
    ResourceError,
    ServerError,
    UnexpectedAnswer,
)
from posthaste.exchange import __version__
from posthaste.retries import RetryPolicy
from posthaste.uploads import UploadFailed

__all__ = [
    "UNSET",
    "AiError",
    "ApiError",
    "AsyncPosthaste",
    "AuthenticationError",
    "FieldError",
    "IdempotencyError",
    "InvalidRequest",
    "LimitReached",
    "MediaError",
    "NoAnswer",
    "OutcomeUnknown",
    "PermissionDenied",
    "PlatformError",
    "Posthaste",
    "PosthasteError",
    "ResourceError",
    "RetryPolicy",
    "ServerError",
    "UnexpectedAnswer",
    "Unset",
    "UploadFailed",
    "__version__",
]
