"""`python -m chassis.message_keys [-]` creates the keys of all processes, and prints MESSAGE_KEYS for each.

With `-` it reads earlier output from standard input and keeps the secrets in it. Run that after an upgrade: a new
release may have new senders and receivers.

It prints one line per process: MESSAGE_KEYS_GATEWAY=…, MESSAGE_KEYS_ACCOUNTS=… On a small server, where all services
share one process, that process uses MESSAGE_KEYS_SERVICES. `signatures.py` explains the contents.
"""

import re
import secrets
import sys
from collections.abc import Iterable, Mapping

from chassis.signatures import key_of
from contracts.services import NAMES, SERVICES, receivers_of

#: The process that all services share on a small server.
SHARED = "services"


def new_secrets() -> dict[str, str]:
    """Makes a new random secret for each service, as service → hexadecimal text."""
    return {name: secrets.token_hex(32) for name in SERVICES}


def secrets_in(text: str) -> dict[str, str]:
    """Finds the first secret of each service in lines of MESSAGE_KEYS_<PROCESS>=…, as service → hexadecimal text."""
    found: dict[str, str] = {}
    for values in re.findall(r"^MESSAGE_KEYS_\w+=(.*)$", text, re.MULTILINE):
        for name, secret in re.findall(r"(?:^|,)(\w+)=([0-9a-f]{64})", values):
            found.setdefault(name, secret)
    return found


def message_keys(name: str, secret_of: Mapping[str, str], receivers: Iterable[str] | None = None) -> str:
    """Returns the value of MESSAGE_KEYS for one process: its own secret, if it has one, and its key for each receiver.

    `receivers`: by default those to which the contracts let this process send.
    """
    entries = {name: secret_of[name]} if name in secret_of else {}
    for receiver in sorted(receivers_of(name) if receivers is None else receivers):
        entries[f"{name}:{receiver}"] = key_of(bytes.fromhex(secret_of[receiver]), name).hex()
    return _text(entries)


def all_message_keys(secret_of: Mapping[str, str]) -> dict[str, str]:
    """Returns for each process (by name) its value of MESSAGE_KEYS."""
    return {name: message_keys(name, secret_of) for name in NAMES} | {
        SHARED: _text({name: secret_of[name] for name in SERVICES})
    }


def _text(entries: Mapping[str, str]) -> str:
    return ",".join(f"{name}={key}" for name, key in entries.items())


def main() -> None:
    kept = secrets_in(sys.stdin.read()) if sys.argv[1:] == ["-"] else {}
    for name, keys in all_message_keys(new_secrets() | kept).items():
        print(f"MESSAGE_KEYS_{name.upper()}={keys}")


if __name__ == "__main__":
    main()
