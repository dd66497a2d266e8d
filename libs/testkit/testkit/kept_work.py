"""Caches objects that libraries make anew for each web application and HTTP client, because tests make thousands of
these in one process.

A cached object depends only on its key, so no test can notice.
"""

import os
from functools import cache
from typing import Any

import httpcore2
from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from werkzeug.routing import Rule


def keep() -> None:
    """Makes this process cache compiled templates, compiled routes and the machine's certificate authorities."""
    Flask.jinja_options = {**Flask.jinja_options, "bytecode_cache": _Templates()}
    _keep_builders()
    _keep_authorities()


class _Templates(BytecodeCache):
    """Caches compiled templates, because compiling those of one page takes a tenth of a second. Jinja's key is a
    template's name and path; Jinja itself compiles a template again if its source has changed.
    """

    def __init__(self) -> None:
        self._compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if (compiled := self._compiled.get(bucket.key)) is not None:
            bucket.bytecode_from_string(compiled)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._compiled[bucket.key] = bucket.bytecode_to_string()


def _keep_builders() -> None:
    """Caches the compiled functions that build the URLs of routes. Compiling them takes most of the time of making an
    application.
    """
    compile_builder, kept = Rule._compile_builder, dict[Any, Any]()

    def builder(rule: Rule, append_unknown: bool = True) -> Any:
        key = (rule.rule, *rule._trace, repr(rule.defaults), append_unknown)
        if key not in kept:
            kept[key] = compile_builder(rule, append_unknown)
        return kept[key]

    Rule._compile_builder = builder  # type: ignore[assignment, method-assign]


def _keep_authorities() -> None:
    """Caches the TLS context of HTTP clients, because reading all certificates takes a tenth of a second."""
    make = httpcore2.default_ssl_context

    @cache
    def kept(trusts_environment: bool, *_settings: str | None) -> Any:
        return make(_trust_env=trusts_environment)

    def context(*, _trust_env: bool = True) -> Any:
        return kept(_trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    httpcore2.default_ssl_context = context
