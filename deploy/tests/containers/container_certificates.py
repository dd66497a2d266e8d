"""Certificates of the stack's servers, and the steps with which they change: docs/operations.md, "TLS to PostgreSQL and
RabbitMQ".
"""

import socket
import ssl
from pathlib import Path
from typing import Any

import pika
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from local.containers.compose import Composed
from local.environment import values_of
from local.paths import ROOT
from local.servers import certificates

#: Server → its port with TLS.
PORTS = {"postgres": 5432, "rabbitmq": 5671}
#: PostgreSQL encrypts a connection after this request, which it answers with S (PostgreSQL, "SSLRequest").
ENCRYPT = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")


class Certificates:
    """The certificates of PostgreSQL and RabbitMQ, and the authority that signs them, in the stack's run directory."""

    def __init__(self, stack: Composed) -> None:
        self.stack = stack
        self.folder = stack.run / "certificates"

    def switch_on(self) -> None:
        """Creates the authority and the certificates, and sets them. The containers use them when they are renewed."""
        self._make()
        told = values_of(ROOT / "deploy" / "compose" / "tls.env")
        self.stack.set(
            {name: value.replace("./certificates", str(self.folder)) for name, value in told.items()}
        )

    def renew(self) -> None:
        """Gives each server a new key with a certificate of the same authority. Only the servers are restarted."""
        before, units = self._keys(), self.stack.containers()
        self._make()
        self.stack.compose("up", "--detach", "--wait", "--force-recreate", *PORTS)
        self.stack.wait_ready(60.0)
        assert self.stack.containers() == units
        assert not {*self._keys().values()} & {*before.values()}

    def replace_authority(self) -> None:
        """Replaces the authority, and with it all keys. Then nobody who trusts the old one connects to a server."""
        before, old = self._keys(), ssl.create_default_context(cafile=self.folder / "ca.crt")
        (self.folder / "ca.key").unlink()
        self._make()
        self.stack.compose("up", "--detach", "--wait", "--force-recreate")
        assert not {*self._keys().values()} & {*before.values()}
        for name in PORTS:
            with pytest.raises(ssl.SSLCertVerificationError):
                self._key(name, old)

    def _make(self) -> None:
        certificates.make(self.folder, *PORTS)

    def _keys(self) -> dict[str, bytes]:
        """Returns the public key of each server. Raises SSLCertVerificationError if the authority has not signed it."""
        trusted = ssl.create_default_context(cafile=self.folder / "ca.crt")
        return {name: self._key(name, trusted) for name in PORTS}

    def _key(self, name: str, trusted: ssl.SSLContext) -> bytes:
        address = (self.stack.address(name), PORTS[name])
        return public_key(address, name, trusted, ENCRYPT if name == "postgres" else b"")


def public_key(address: tuple[str, int], host: str, trusted: ssl.SSLContext, first: bytes = b"") -> bytes:
    """Returns the public key of a server, which must prove that it is `host`. `first`: sent before TLS begins."""
    with socket.create_connection(address, 30) as connection:
        if first:
            connection.sendall(first)
            assert connection.recv(1) == b"S"
        with trusted.wrap_socket(connection, server_hostname=host) as encrypted:
            certificate = x509.load_der_x509_certificate(encrypted.getpeercert(binary_form=True) or b"")
    key: Any = certificate.public_key()
    found: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return found


def broker(stack: Composed) -> dict[str, Any]:
    """Returns the address of the stack's RabbitMQ for `pika.ConnectionParameters`, with TLS if the stack has it."""
    authority = values_of(stack.settings).get("TLS_CA_FILE")
    if not authority:
        return {"host": stack.address("rabbitmq"), "port": 5672}
    options = pika.SSLOptions(ssl.create_default_context(cafile=Path(authority)), "rabbitmq")
    return {"host": stack.address("rabbitmq"), "port": PORTS["rabbitmq"], "ssl_options": options}
