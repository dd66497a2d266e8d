"""The steps that every request goes through, in order (`STEPS`). Each is a function of the exchange.

A step returns None to go on or an Answer to end, or raises ApiError. Flask has matched method and path before.
"""

import dataclasses
from collections.abc import Callable

import structlog
from cryptography.fernet import InvalidToken

from chassis import tokens
from chassis.ids import new_id
from contracts.errors import (
    BRAND_PUBLISH_GUARDRAIL,
    INVALID_TOKEN,
    IP_NOT_ALLOWED,
    MISSING_SCOPE,
    MISSING_TOKEN,
    PAGE_PUBLISH_GUARDRAIL,
    SERVER_ERROR,
    TOKEN_EXPIRED,
    ApiError,
)
from gateway.admission.refunds import REFUNDED_BUCKETS
from gateway.exchange import Exchange
from gateway.http import body
from gateway.http.answers import Answer, refusal, success
from gateway.http.client_address import is_allowed
from gateway.idempotency import sealing
from gateway.idempotency.keys import STORED_STATUSES, fingerprint_of, leaves_outcome_open
from gateway.idempotency.store import Claim, Verdict
from gateway.request_log.store import Line

log = structlog.get_logger()

Step = Callable[[Exchange], Answer | None]


def take_body(exchange: Exchange) -> None:
    """Reads the body, unless the endpoint streams it. Refuses a body that is too large (413) or of the wrong type
    (415)."""
    if exchange.endpoint.streams:
        return
    exchange.body = body.take_body(exchange.environ, is_json=exchange.endpoint.reader.takes_body)
    exchange.restart_deadline()  # a slow connection has READ_SECONDS of its own


def identify(exchange: Exchange) -> None:
    """Finds the token's owner. Refuses an unknown, revoked or expired token (401)."""
    token = token_of(exchange)
    if not tokens.looks_valid(token, exchange.services.config.token_prefixes):
        raise ApiError(INVALID_TOKEN)
    found = exchange.services.callers.find(tokens.hash_token(token))
    exchange.authenticated = found
    exchange.act_as(found.caller, new_id("op") if exchange.is_write else None)
    expires_at = found.token.expires_at
    if expires_at is not None and expires_at <= exchange.services.clock.now():
        raise ApiError(TOKEN_EXPIRED)


def check_address(exchange: Exchange) -> None:
    """Refuses an address that the token does not allow (403 IP_NOT_ALLOWED), before the request uses any quota.
    Otherwise counts one use of the token."""
    token = exchange.identity.token
    if token.ip_allowlist and not is_allowed(exchange.client_address, token.ip_allowlist):
        raise ApiError(IP_NOT_ALLOWED)
    exchange.services.token_usage.note(token.id, exchange.services.clock.now())


def claim_key(exchange: Exchange) -> None:
    """Claims the request's idempotency key, if there is one, and keeps the result. `settle_key` acts on it later.

    The steps between the two can still refuse the request, because of a limit or of a missing scope.
    """
    if not exchange.endpoint.idempotent:
        return
    environ = exchange.environ
    query = environ.get("QUERY_STRING", "")
    path = environ["PATH_INFO"] + (f"?{query}" if query else "")
    exchange.claim = exchange.services.keys.claim(
        exchange.identity.token.id,
        environ.get("HTTP_IDEMPOTENCY_KEY"),
        fingerprint_of(exchange.endpoint.method, path, exchange.body),
        exchange.endpoint.deadline_seconds,
    )
    _act_as_claimed(exchange)


def admit(exchange: Exchange) -> None:
    """Asks the service `quota` to admit the request. Refuses a request over a limit: 402 for a sandbox token that has
    used all its requests, 429 for every other limit. A read usually goes on, and awaits the verdict later.

    The request uses a unit of a monthly counter only if its token has the scope and it will run. A request that gets a
    stored answer uses none.
    """
    runs = exchange.claim is None or exchange.claim.verdict is Verdict.CLAIMED
    meter = exchange.endpoint.meter if exchange.holds_scope and runs else ""
    exchange.meter = meter  # set before the call: a unit may be used although the answer is lost
    services = exchange.services
    exchange.admission = services.admissions.submit(exchange.caller, meter, exchange.remaining_seconds)
    if (
        exchange.is_write
        or not exchange.holds_scope
        or services.limited_tokens.has(exchange.identity.token.id)
    ):
        exchange.await_admission()


def check_scope(exchange: Exchange) -> None:
    """Refuses a token without the endpoint's scope (403 MISSING_SCOPE)."""
    if not exchange.holds_scope:
        raise ApiError(
            MISSING_SCOPE,
            required_scope=exchange.endpoint.scope,
            your_scopes=list(exchange.identity.token.scopes),
        )


def settle_key(exchange: Exchange) -> Answer | None:
    """Acts on the result of claiming the key: replays an answer, waits, refuses (400, 409), or returns None so that the
    request runs."""
    claim = exchange.claim
    if claim is not None and claim.verdict is Verdict.RUNNING:
        claim = exchange.claim = exchange.services.keys.await_turn(claim, exchange.endpoint.deadline_seconds)
        if claim.verdict is Verdict.CLAIMED:
            # The first request failed without effect: this one runs after all, and uses a unit.
            _act_as_claimed(exchange)
            exchange.restart_deadline()
            admit(exchange)
    if claim is None or claim.verdict is Verdict.CLAIMED:
        return None
    if claim.answer is not None:
        kept = claim.answer.whole
        try:
            replayed = sealing.unseal(kept, token_of(exchange)) if exchange.endpoint.shows_secret else kept
        except InvalidToken:  # a brand was entered again, which gives the session another token
            exchange.act_as(exchange.caller, claim.operation_id)
            return None
        return Answer(claim.answer.status, replayed, {**claim.answer.headers, "Idempotency-Replayed": "true"})
    assert claim.error is not None
    raise claim.error


def handle(exchange: Exchange) -> Answer:
    """Converts the request to the endpoint's record (400), then runs the endpoint's handler."""
    endpoint = exchange.endpoint
    query = exchange.environ.get("QUERY_STRING", "")
    try:
        request = endpoint.reader.read(exchange.path_values, query, exchange.body)
        exchange.handled = True
        result = endpoint.handler(exchange, request)
        return result if isinstance(result, Answer) else success(endpoint.status, result, exchange.headers)
    finally:
        exchange.await_admission()  # a limit that was hit replaces the read's own answer or error


STEPS: tuple[Step, ...] = (
    take_body,
    identify,
    check_address,
    claim_key,
    admit,
    check_scope,
    settle_key,
    handle,
)
#: The steps of endpoints that need no token.
PUBLIC_STEPS: tuple[Step, ...] = (take_body, handle)


def run(exchange: Exchange) -> Answer:
    """Returns the answer to a request, whatever happens, and adds the request to its account's request log."""
    answer = _answer(exchange)
    _note(exchange, answer)
    return answer


def _answer(exchange: Exchange) -> Answer:
    """Runs the steps, and turns errors into answers (`_after_error`). Keeps the answer to a write for repeated requests
    with its idempotency key."""
    try:
        for step in STEPS if exchange.endpoint.token else PUBLIC_STEPS:
            answer = step(exchange)
            if answer is not None:
                break
    except ApiError as error:
        return _after_error(exchange, error)
    except Exception:
        log.exception("unhandled", request_id=exchange.request_id, path=exchange.endpoint.path)
        return _after_error(exchange, ApiError(SERVER_ERROR))
    assert answer is not None
    claim = exchange.claim
    if claim is not None and claim.verdict is Verdict.CLAIMED and answer.status in STORED_STATUSES:
        _keep(exchange, answer)
    return answer


def _note(exchange: Exchange, answer: Answer) -> None:
    """Adds the request to the request log, if its token is known. If the endpoint's `is_logged` is False, adds only
    errors.

    A tool's call over /mcp is added as a request of its own.
    """
    found, endpoint, request_log = exchange.authenticated, exchange.endpoint, exchange.services.request_log
    if found is None or not endpoint.token or not request_log.is_on:
        return
    if answer.status < 400 and not endpoint.is_logged:
        return
    request_log.note(
        Line(
            id=new_id("log"),
            account_id=found.caller.account_id,
            at=exchange.services.clock.now(),
            token_id=found.token.id,
            method=endpoint.method,
            path=endpoint.path,
            operation=endpoint.operation,
            meter=endpoint.meter,
            status=answer.status,
            code=exchange.error_code,
            request_id=exchange.request_id,
            duration_ms=int(exchange.duration_seconds * 1000),
            replayed="Idempotency-Replayed" in answer.headers,
            operation_id=_operation_of(exchange),
        ),
        is_over_limit=exchange.admitted is not None and exchange.admitted.refused_code is not None,
    )


def _operation_of(exchange: Exchange) -> str | None:
    """Returns the operation id of a write; None for a read. For a replayed answer it is the id of the first request."""
    claim = exchange.claim
    return claim.operation_id if claim is not None and claim.operation_id else exchange.caller.operation_id


def token_of(exchange: Exchange) -> str:
    """Returns the token from the header Authorization, else from X-API-Key. Raises MISSING_TOKEN if there is none, and
    INVALID_TOKEN if Authorization has another scheme than Bearer."""
    authorization = exchange.environ.get("HTTP_AUTHORIZATION", "").strip()
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return str(token.strip())
    key = exchange.environ.get("HTTP_X_API_KEY", "").strip()
    if key:
        return str(key)
    if authorization and scheme.lower() != "bearer":
        raise ApiError(INVALID_TOKEN)
    raise ApiError(MISSING_TOKEN)


def _act_as_claimed(exchange: Exchange) -> None:
    """Sets a write's operation id to that of its idempotency key, and its try number to the claim's fencing token."""
    claim = exchange.claim
    if claim is not None and claim.verdict is Verdict.CLAIMED:
        exchange.act_as(exchange.caller, claim.operation_id, claim.fence)


def _keep(exchange: Exchange, answer: Answer) -> None:
    assert exchange.claim is not None
    try:
        if exchange.endpoint.shows_secret:
            answer = dataclasses.replace(answer, body=sealing.seal(answer.whole, token_of(exchange)))
        exchange.services.keys.keep(exchange.claim, answer)
    except Exception:
        # The write has taken effect. A repeated request takes over the key and gets the operation's answer.
        log.exception("answer_not_stored", request_id=exchange.request_id)
        exchange.services.keys.give_up(exchange.claim, outcome_open=True, at_once=False)


def _give_up(exchange: Exchange, claim: Claim, *, outcome_open: bool) -> None:
    try:
        exchange.services.keys.give_up(claim, outcome_open=outcome_open, at_once=exchange.has_time)
    except Exception:
        log.exception("key_not_released", request_id=exchange.request_id)  # its lock runs out


def _add_refusal_headers(exchange: Exchange, error: ApiError) -> None:
    """Calls the endpoint's function `on_refusal`, if it has one, which adds headers to the answer of an error.

    That function calls a service. So it is not called if the token lacks the scope, or if the service `quota` has
    refused the request or has not answered.
    """
    on_refusal, admitted = exchange.endpoint.on_refusal, exchange.admitted
    if (
        on_refusal is None
        or not exchange.holds_scope
        or admitted is None
        or admitted.refused_code is not None
    ):
        return
    try:
        on_refusal(exchange, error)
    except Exception:
        log.exception("refusal_told_in_part", request_id=exchange.request_id)


def _waiting_helps(exchange: Exchange, error: ApiError) -> bool:
    """Whether the client can succeed by repeating the request later.

    Not when a guardrail refused to schedule a post: its wait counts from the scheduled time, not from now.
    """
    is_guardrail = error.row in (PAGE_PUBLISH_GUARDRAIL, BRAND_PUBLISH_GUARDRAIL)
    return not (is_guardrail and hasattr(exchange.endpoint.request, "scheduled_at"))


def _after_error(exchange: Exchange, error: ApiError) -> Answer:
    """Returns the answer to a failed request.

    If the request certainly had no effect, its idempotency key is deleted, and its unit of the counter `publishes` or
    `replies` is refunded. (Units of other counters are not.) If it may have had an effect, the key is only unlocked.

    The refund comes first: a client at its limit that repeats the call then has a unit for it.
    """
    exchange.error_code = error.code
    if exchange.meter in REFUNDED_BUCKETS and exchange.made_nothing(error):
        exchange.services.refunds.give_back([exchange.caller], waits=exchange.has_time)
    claim = exchange.claim
    if claim is not None and claim.verdict is Verdict.CLAIMED:
        sends = exchange.endpoint.meter in REFUNDED_BUCKETS
        open_ = leaves_outcome_open(error, sends=sends) if exchange.handled else exchange.was_tried
        _give_up(exchange, claim, outcome_open=open_)
    _add_refusal_headers(exchange, error)
    answer = refusal(error, exchange.request_id, waiting_helps=_waiting_helps(exchange, error))
    answer.headers.update(exchange.headers)
    return answer
