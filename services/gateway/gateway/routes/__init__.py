"""The operations of the API, each declared with `@endpoint`, in a module for each kind of resource."""

from types import ModuleType

from gateway.endpoint import Endpoint
from gateway.routes import (
    ai,
    billing,
    brands,
    collaborators,
    comments,
    connect,
    hooks,
    introspection,
    invitations,
    logs,
    media,
    pages,
    posts,
    tokens,
    webhooks,
)
from gateway.routes.auth import email_changes, passwords, sessions, sign_up, totp

_NOUNS: tuple[ModuleType, ...] = (
    introspection,
    logs,
    brands,
    collaborators,
    invitations,
    connect,
    pages,
    posts,
    comments,
    media,
    ai,
    billing,
    webhooks,
    tokens,
    sign_up,
    sessions,
    totp,
    passwords,
    email_changes,
    hooks,
)

#: All operations, in the order of the spec.
ENDPOINTS: tuple[Endpoint, ...] = tuple(
    value for noun in _NOUNS for value in vars(noun).values() if isinstance(value, Endpoint)
)
