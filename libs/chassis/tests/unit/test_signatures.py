"""Who signed which message for which receiver: what verifies, and everything that must not."""

import pytest

from chassis.message_keys import all_message_keys, message_keys, new_secrets, secrets_in
from chassis.signatures import CLOCK_SECONDS, KeysMalformed, Peer, Refused, Signatures, key_of
from contracts.services import NAMES, SERVICES, receivers_of

SECRETS = new_secrets()
BODY = b'{"calls": [{"caller": {"scopes": ["operator"]}}]}'
NOW = 1_800_000_000.0


def of(name: str, **options: bool) -> Signatures:
    return Signatures.read(name, message_keys(name, SECRETS), **options)


GATEWAY, ACCOUNTS, MEDIA = of("gateway"), of("accounts"), of("media")


def reason(signature: str | None, body: bytes = BODY, now: float = NOW, at: Signatures = ACCOUNTS) -> str:
    with pytest.raises(Refused) as caught:
        at.sender_of_call("reply.to", signature, body, now)
    return caught.value.reason


def test_a_call_is_known_by_its_sender_s_key() -> None:
    signature = GATEWAY.call("accounts", BODY, NOW + 10)
    peer = ACCOUNTS.sender_of_call("reply.to", signature, BODY, NOW)
    assert peer == Peer("reply.to", "gateway", key_of(bytes.fromhex(SECRETS["accounts"]), "gateway"))


def test_what_is_not_signed_or_not_readable_is_refused() -> None:
    assert reason(None) == reason("") == "unsigned"
    for text in (
        "gateway",
        "gateway 1 2 3",
        "gateway soon ff",
        "gateway -1 ff",
        "gateway ² ff",
        "gateway 1 é",
    ):
        assert reason(text) == "malformed"


def test_a_changed_body_sender_or_time_is_refused() -> None:
    signature = GATEWAY.call("accounts", BODY, NOW + 10)
    _, until, code = signature.split(" ")
    assert reason(signature, BODY + b" ") == "wrong signature"
    assert reason(f"ctl {until} {code}") == "wrong signature"
    assert reason(f"gateway {int(until) + 1} {code}") == "wrong signature"
    assert reason(
        f"gateway {until} {code[:-1]}0" if code[-1] != "0" else f"gateway {until} {code[:-1]}1"
    ) == ("wrong signature")


def test_a_wrong_key_and_an_unknown_sender_are_refused() -> None:
    other = Signatures.read("gateway", message_keys("gateway", new_secrets()))
    assert reason(other.call("accounts", BODY, NOW + 10)) == "wrong signature"
    stranger = Signatures("stranger", keys={"accounts": b"x" * 32})
    with pytest.raises(Refused) as caught:
        ACCOUNTS.sender_of_call("", stranger.call("accounts", BODY, NOW + 10), BODY, NOW)
    assert (caught.value.reason, caught.value.sender) == ("wrong signature", "unknown")


def test_a_call_to_another_service_is_refused() -> None:
    signature = GATEWAY.call("media", BODY, NOW + 10)
    assert MEDIA.sender_of_call("", signature, BODY, NOW).name == "gateway"
    assert reason(signature) == "wrong signature"


def test_a_call_is_valid_until_its_deadline_and_as_long_after_it_as_clocks_may_differ() -> None:
    signature = GATEWAY.call("accounts", BODY, NOW + 10)
    assert ACCOUNTS.sender_of_call("", signature, BODY, NOW + 10 + CLOCK_SECONDS).name == "gateway"
    assert ACCOUNTS.sender_of_call("", signature, BODY, NOW - 3600).name == "gateway"  # a clock that is slow
    assert reason(signature, now=NOW + 11 + CLOCK_SECONDS) == "expired"


def test_a_reply_is_that_of_the_service_that_was_called() -> None:
    peer = ACCOUNTS.sender_of_call("", GATEWAY.call("accounts", BODY, NOW + 10), BODY, NOW)
    signature = ACCOUNTS.reply(peer, b"reply")
    assert GATEWAY.sender_of_reply(signature, b"reply") == "accounts"
    for wrong, body in (
        (signature, b"another"),
        (None, b"reply"),
        (signature.replace("accounts", "quota"), b"reply"),
    ):
        with pytest.raises(Refused):
            GATEWAY.sender_of_reply(wrong, body)
    with pytest.raises(Refused):  # the same to another caller
        of("ctl").sender_of_reply(signature, b"reply")
    with pytest.raises(Refused):  # a call sent back as its own answer
        GATEWAY.sender_of_reply(
            GATEWAY.call("accounts", b"reply", NOW).replace("gateway", "accounts"), b"reply"
        )


def test_an_event_is_its_sender_s_and_for_its_receiver() -> None:
    publishing, webhooks = of("publishing"), of("webhooks")
    headers = publishing.event_headers(["webhooks"], BODY)
    webhooks.check_event(headers, "publishing", BODY)
    for receiver, sender, body in (
        (webhooks, "publishing", b"{}"),
        (webhooks, "ai", BODY),
        (of("quota"), "publishing", BODY),
    ):
        with pytest.raises(Refused):
            receiver.check_event(headers, sender, body)
    with pytest.raises(KeysMalformed, match="no key of media for webhooks"):
        MEDIA.event_headers(["webhooks"], BODY)


@pytest.mark.parametrize("holder", NAMES)
def test_who_has_one_process_s_keys_can_sign_in_its_name_or_to_it_and_nothing_else(holder: str) -> None:
    known = {bytes.fromhex(part.partition("=")[2]) for part in message_keys(holder, SECRETS).split(",")}
    derived = known | {key_of(key, name) for key in known for name in NAMES}
    for service in SERVICES.keys() - {holder}:
        assert bytes.fromhex(SECRETS[service]) not in derived
        for claimed in set(NAMES) - {holder}:
            assert key_of(bytes.fromhex(SECRETS[service]), claimed) not in derived


def test_while_a_secret_changes_both_verify() -> None:
    fresh = new_secrets()
    both = Signatures.read("accounts", f"{message_keys('accounts', SECRETS)},accounts={fresh['accounts']}")
    for secrets in (SECRETS, fresh):
        sender = Signatures.read("gateway", message_keys("gateway", secrets))
        assert both.sender_of_call("", sender.call("accounts", BODY, NOW), BODY, NOW).name == "gateway"


def test_services_that_share_a_process_sign_as_if_they_did_not() -> None:
    together = all_message_keys(SECRETS)["services"]
    for name in SERVICES:
        mine = Signatures.read(name, together)
        for receiver in receivers_of(name):
            assert mine.call(receiver, BODY, NOW) == of(name).call(receiver, BODY, NOW)


def test_secrets_that_were_printed_earlier_are_kept() -> None:
    lines = [f"MESSAGE_KEYS_{name.upper()}={keys}" for name, keys in all_message_keys(SECRETS).items()]
    assert secrets_in("\n".join(["OTHER=quota=00", *lines])) == SECRETS


@pytest.mark.parametrize(
    "text", ["accounts", "accounts=", "=00", "accounts=xyz", "accounts=00", f"={'00' * 32}"]
)
def test_a_malformed_key_stops_the_start(text: str) -> None:
    with pytest.raises(KeysMalformed):
        Signatures.read("accounts", text)


def test_a_missing_key_stops_the_start() -> None:
    told = message_keys("publishing", SECRETS).split(",")
    with pytest.raises(KeysMalformed, match="there is no key publishing:quota"):
        Signatures.read("publishing", ",".join(part for part in told if "quota" not in part))
