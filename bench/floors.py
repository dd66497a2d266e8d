"""A WSGI application with the two floors of HTTP requests: /f0 answers with Flask alone, /f1 also calls the echo
service through chassis.

It runs as the gateway does: in gunicorn, with the gateway's number of processes and threads.
"""

import os
from functools import cache

import msgspec
from flask import Flask, Response, request

from bench.echo.api import EchoApi, Words
from chassis.bus.rpc import connect
from chassis.config import signatures
from contracts.caller import Caller

app = Flask("floors")
_CALLER = Caller(account_id="usr_bench", user_id="usr_bench", scopes=("*",), request_id="req_bench")


@cache
def _echo() -> EchoApi:  # created in each worker process, after the fork
    echo: EchoApi = connect(os.environ["AMQP_URL"], signatures("gateway")).service("echo", EchoApi)
    return echo


@app.get("/f0")
def f0() -> Response:
    return _answer(Words(text=request.args.get("text", "")))


@app.get("/f1")
def f1() -> Response:
    return _answer(_echo().echo(_CALLER, Words(text=request.args.get("text", ""))))


def _answer(words: Words) -> Response:
    return Response(msgspec.json.encode(words), mimetype="application/json")
