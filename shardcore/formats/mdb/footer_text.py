"""Parsing HMAC keys and times given as text into footer values."""

from __future__ import annotations

from datetime import UTC, datetime

from shardcore.codecs.xet.hashes import SIZE, ZERO
from shardcore.errors import UsageError
from shardcore.formats.mdb.layout import NO_EXPIRY
from shardcore.model.safe_text import short


def read_key(text: str) -> bytes:
    """Return the HMAC key from 64 hex digits; all zero for an empty text."""
    if not text:
        return ZERO
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != SIZE or len(text) != 2 * SIZE:
        raise UsageError(f"key must be 64 hex digits, not {short(text)}")
    if key == ZERO:
        raise UsageError("key must not be all zeros, which means no key; omit it instead")
    return key


def read_time(name: str, text: str) -> int | None:
    """Return Unix seconds from an ISO date (default: UTC) or a number; None for `none` or ""."""
    if text in ("", "none") and name == "expiry":
        return None
    try:
        if text.isascii() and text.isdigit():
            seconds = int(text)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            seconds = int(moment.timestamp())
    except (ValueError, OverflowError):
        seconds = -1
    if not 0 <= seconds < NO_EXPIRY:
        raise UsageError(f"{name} must be a date such as 2030-01-31, or Unix seconds, not {short(text)}")
    return seconds


def expiry_field(expiry: int | None, *, for_ever: bool) -> int:
    """Return the value of `shard_key_expiry`; for None all bits one if `for_ever`, else 0 (not recorded)."""
    if expiry is None:
        return NO_EXPIRY if for_ever else 0
    return expiry
