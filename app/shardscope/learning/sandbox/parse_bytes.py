"""Parser of typed bytes. No Qt here."""

from __future__ import annotations

from shardcore import UsageError
from shardcore.model.text import short

MOST_TYPED = 1 << 20
"""Maximum number of bytes written at once."""


def new_bytes(typed: str, *, text: bool) -> bytes:
    """Parse typed bytes: hex (spaces, commas and 0x allowed), or text as UTF-8.

    Raises:
        UsageError: The text is empty, not hex, or longer than `MOST_TYPED` bytes.
    """
    if len(typed) > 4 * MOST_TYPED:
        raise UsageError(f"at most {MOST_TYPED:,} bytes can be written at once")
    if text:
        data = typed.encode("utf-8", "surrogatepass")
    else:
        digits = "".join(part.removeprefix("0x") for part in typed.replace(",", " ").split())
        try:
            data = bytes.fromhex(digits)
        except ValueError:
            raise UsageError(f"{short(typed)} is not hex: type two digits for each byte, or choose text") from None
    if not data:
        raise UsageError("type the new bytes first")
    if len(data) > MOST_TYPED:
        raise UsageError(f"at most {MOST_TYPED:,} bytes can be written at once")
    return data
