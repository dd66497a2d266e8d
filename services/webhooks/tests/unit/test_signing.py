"""Secrets and signatures, held against the vectors that every client library is tested with."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from webhooks.signing import new_secret, signature

_VECTORS = Path(__file__).parents[4] / "clients" / "vectors" / "webhook_signatures.json"


def vectors() -> list[Any]:
    return [
        pytest.param(vector, id=vector["name"])
        for vector in json.loads(_VECTORS.read_text())["vectors"]
        if "signed_with" in vector
    ]


@pytest.mark.parametrize("vector", vectors())
def test_a_delivery_is_signed_exactly_as_the_clients_expect(vector: dict[str, Any]) -> None:
    body = base64.b64decode(vector["body_base64"]) if "body_base64" in vector else vector["body"].encode()
    assert signature(vector["signed_with"], body) == vector["header"]


def test_one_vector_at_least_has_several_signatures() -> None:
    assert any(len(vector.values[0]["signed_with"]) > 1 for vector in vectors())


def test_secrets_are_whsec_and_32_random_bytes_in_base62() -> None:
    secrets = {new_secret() for _ in range(200)}
    assert len(secrets) == 200
    assert all(re.fullmatch(r"whsec_[0-9A-Za-z]{43}", secret) for secret in secrets)
