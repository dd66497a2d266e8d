"""Parameters of a connection to the broker, made from its address. With `amqps://` its certificate is checked."""

import ssl
from urllib.parse import parse_qsl, urlencode, urlsplit

import pika

#: RabbitMQ's name, in an address, for the file with the authorities that may sign the broker's certificate.
_AUTHORITIES = "cacertfile"


def parameters(url: str) -> pika.URLParameters:
    """What pika needs to connect to `url`; its certificate must be valid for the host that the address names.

    It must be signed by an authority in the file `cacertfile` of the address, or by one that the system trusts. A
    connection that is lost is made again with the same parameters, so it never falls back to plain text. Raises OSError
    when the file cannot be read, ValueError for an address that pika does not know.
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    authorities = query.pop(_AUTHORITIES, None)
    found = pika.URLParameters(parts._replace(query=urlencode(query)).geturl())
    if parts.scheme == "amqps":
        found.ssl_options = pika.SSLOptions(ssl.create_default_context(cafile=authorities), found.host)
    return found


def reason_of(error: BaseException) -> str:
    """Why a connection was lost or not made: pika wraps what happened in errors whose own words are empty."""
    while isinstance(wrapped := _wrapped_in(error), BaseException):
        error = wrapped
    return str(error) or repr(error)


def _wrapped_in(error: BaseException) -> object:
    tries = getattr(error, "exceptions", ())  # of a connection, one for each address
    return tries[-1] if tries else getattr(error, "exception", error.args[0] if error.args else None)
