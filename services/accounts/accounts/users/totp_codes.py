"""Codes of authenticator apps (RFC 6238: SHA-1, 30 s, 6 digits) and recovery codes. Pure."""

import hashlib
from datetime import datetime

import pyotp

from accounts import derived_secrets

STEP_SECONDS, DIGITS = 30, 6
#: Steps before and after the current one that are accepted, for clocks that differ and slow typists (RFC 6238, 5.2).
TOLERANCE = 1


def step_of(secret: str, code: str, now: datetime) -> int | None:
    """Returns the number of the 30-second step that a code belongs to, or None if the code is wrong. Takes constant
    time."""
    app = pyotp.TOTP(secret, digits=DIGITS, interval=STEP_SECONDS)
    current = int(now.timestamp()) // STEP_SECONDS
    found = None
    for step in range(current - TOLERANCE, current + TOLERANCE + 1):
        if derived_secrets.is_code(app.generate_otp(step), code):
            found = step
    return found


def otpauth_url(secret: str, *, email: str, issuer: str) -> str:
    """Returns the otpauth: address that an authenticator app reads from a QR code."""
    app = pyotp.TOTP(secret, digits=DIGITS, interval=STEP_SECONDS)
    return str(app.provisioning_uri(name=email, issuer_name=issuer))


def plain(code: str) -> str:
    """Removes the spaces and hyphens from a code that somebody typed, and puts it in lower case."""
    return "".join(code.split()).replace("-", "").lower()


def is_of_app(code: str) -> bool:
    """Whether a code has the form of an authenticator app's, not of a recovery code."""
    return len(code) == DIGITS and code.isascii() and code.isdigit()


def readable(recovery_code: str) -> str:
    """Returns a recovery code in groups of four characters, joined by hyphens."""
    return "-".join(recovery_code[start : start + 4] for start in range(0, len(recovery_code), 4))


def hashed(recovery_code: str) -> str:
    """Returns the SHA-256 of a recovery code, which is what we store: its 80 random bits need no slow hash."""
    return hashlib.sha256(recovery_code.encode("utf-8", "replace")).hexdigest()
