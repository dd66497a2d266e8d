"""Secrets and signatures, compared with the test vectors that every client library uses."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from webhooks.security import new_secret, signature, standard_headers

_VECTORS = Path(__file__).parents[4] / "clients" / "vectors"


def vectors(name: str) -> list[Any]:
    return [
        pytest.param(vector, id=vector["name"])
        for vector in json.loads((_VECTORS / name).read_text(encoding="utf-8"))["vectors"]
        if "signed_with" in vector
    ]


def body_of(vector: dict[str, Any]) -> bytes:
    return base64.b64decode(vector["body_base64"]) if "body_base64" in vector else vector["body"].encode()


@pytest.mark.parametrize("vector", vectors("webhook_signatures.json"))
def test_a_delivery_is_signed_exactly_as_the_clients_expect(vector: dict[str, Any]) -> None:
    assert signature(vector["signed_with"], body_of(vector)) == vector["header"]


@pytest.mark.parametrize("vector", vectors("standard_webhooks.json"))
def test_a_delivery_has_exactly_the_standard_headers_that_the_clients_expect(vector: dict[str, Any]) -> None:
    headers = vector["headers"]
    at = int(headers["webhook-timestamp"])
    assert standard_headers(vector["signed_with"], headers["webhook-id"], at, body_of(vector)) == headers


@pytest.mark.parametrize("name", ["webhook_signatures.json", "standard_webhooks.json"])
def test_one_vector_at_least_has_several_signatures(name: str) -> None:
    assert any(len(vector.values[0]["signed_with"]) > 1 for vector in vectors(name))


def test_secrets_are_whsec_and_44_random_characters_of_base62() -> None:
    secrets = {new_secret() for _ in range(200)}
    assert len(secrets) == 200
    assert all(re.fullmatch(r"whsec_[0-9A-Za-z]{44}", secret) for secret in secrets)


def test_secrets_are_keys_of_standard_webhooks_without_padding() -> None:
    """The specification asks for keys of 24 to 64 bytes. Strict decoders refuse base64 without its padding, so the keys
    have 33 bytes, which need none.
    """
    keys = [base64.b64decode(new_secret().removeprefix("whsec_"), validate=True) for _ in range(50)]
    assert {len(key) for key in keys} == {33}
