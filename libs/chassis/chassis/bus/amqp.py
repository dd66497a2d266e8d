"""Connection parameters for RabbitMQ, from its URL. With `amqps://`, the broker's certificate is verified."""

import ssl
from urllib.parse import parse_qsl, urlencode, urlsplit

import pika

#: The URL parameter with the file of authorities that may sign the broker's certificate. RabbitMQ's own name for it.
_AUTHORITIES = "cacertfile"


def parameters(url: str) -> pika.URLParameters:
    """Returns pika's parameters for `url`. The broker's certificate must be valid for the host in the URL.

    The certificate must be signed by an authority in the file that `cacertfile` in the URL names; without `cacertfile`,
    by one that the system trusts. Reconnecting uses the same parameters, so it never falls back to plain text. Raises
    OSError when the file cannot be read, ValueError for a URL that pika does not accept.
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    authorities = query.pop(_AUTHORITIES, None)
    found = pika.URLParameters(parts._replace(query=urlencode(query)).geturl())
    if parts.scheme == "amqps":
        found.ssl_options = pika.SSLOptions(ssl.create_default_context(cafile=authorities), found.host)
    return found


def reason_of(error: BaseException) -> str:
    """Returns the message of an error of pika. If pika has wrapped the error in others, returns that of the innermost
    one, because the others have no message.
    """
    while isinstance(wrapped := _wrapped_in(error), BaseException):
        error = wrapped
    return str(error) or repr(error)


def _wrapped_in(error: BaseException) -> object:
    tries = getattr(error, "exceptions", ())  # one for each address that was tried
    return tries[-1] if tries else getattr(error, "exception", error.args[0] if error.args else None)
