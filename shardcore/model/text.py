"""Text for display: characters from files made safe, numbers with units, results as HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from numbers import Integral, Real
from typing import Any, SupportsInt


class Displayed:
    __slots__ = ()

    def _repr_html_(self) -> str:
        from shardcore.notebook import html

        return html(self)


_IRREGULAR = {"index": "indices", "entry": "entries", "copy": "copies", "key": "keys"}
_SIBILANTS = ("s", "x", "z", "ch", "sh")
WHOLE = 1e16
"""Floats of this size and more are written with an exponent; adjacent ones differ by more than 1."""
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def grouped_digits(count: SupportsInt) -> str:
    return f"{int(count):,}"


def plural(count: SupportsInt, noun: str, many: str = "") -> str:
    """Return a number with its noun: `1 byte`, `2,400 bytes`, `0 entries`.

    `many` is an irregular plural, or a phrase with a verb: `plural(n, "byte follows", "bytes follow")`.
    """
    number = int(count)
    return f"{number:,} {noun if number == 1 else many or _many(noun)}"


def _many(noun: str) -> str:
    head, space, last = noun.rpartition(" ")
    return f"{head}{space}{_IRREGULAR.get(last) or last + ('es' if last.endswith(_SIBILANTS) else 's')}"


def size_text(size: int) -> str:
    """Return a short size: `512 B`, `4.2 KiB`, `98.5 GiB`."""
    if size < 0:
        return f"−{size_text(-size)}"
    if size < 1024:
        return f"{size:,} B"
    power = min((size.bit_length() - 1) // 10, len(_UNITS))
    value = size / 1024**power
    return f"{value:.1f} {_UNITS[power - 1]}" if value < 100 else f"{value:,.0f} {_UNITS[power - 1]}"


def iso_text(moment: datetime, unit: str = "auto") -> str:
    """Return a time in ISO 8601, in UTC with `Z`; `unit` is the last unit shown, as in `datetime.isoformat`."""
    return moment.isoformat(timespec=unit).replace("+00:00", "Z")


def long_size(size: int) -> str:
    """Return a full size: `512 bytes`, `4.9 KiB (5,064 bytes)`."""
    return plural(size, "byte") if size < 1024 else f"{size_text(size)} ({plural(size, 'byte')})"


def ends_text(start: SupportsInt, stop: SupportsInt) -> str:
    """Return a half-open range as text with both ends inclusive: `0x1171–0x1178`; one number for a single byte."""
    first, after = int(start), int(stop)
    return f"{first:#x}–{after - 1:#x}" if after > first + 1 else f"{first:#x}"


def bits_text(first: int, stop: int) -> str:
    """Return a half-open range of bits as text with both ends inclusive: `bit 3`, `bits 3–5`."""
    return f"bit {first:,}" if stop == first + 1 else f"bits {first:,}–{stop - 1:,}"


def range_text(start: SupportsInt, stop: SupportsInt, source: str = "") -> str:
    """Return a half-open range as text with both ends inclusive: `0x1171–0x1178 · 8 bytes`."""
    within = f" of {source}" if source else ""
    return f"{ends_text(start, stop)}{within} · {plural(int(stop) - int(start), 'byte')}"


def number_text(value: Any) -> str:
    """Return the shortest decimal that identifies the number: `0.1` for a float32, not `0.10000000149011612`."""
    if isinstance(value, Integral) or not isinstance(value, Real):
        return str(value)
    exact = float(value)
    if exact.is_integer() and abs(exact) < WHOLE:
        return f"{exact:.0f}"
    digits = f"{exact:.9g}"
    return digits if float(digits) == exact else str(value)


def json_values(value: Any) -> Any:
    """Return JSON values: bytes as hex, arrays and tuples as lists, NaN and infinity as None, other objects as text."""
    if isinstance(value, dict):
        return {str(name): json_values(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple) or getattr(value, "ndim", False):
        return [json_values(inner) for inner in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, Real) and not isinstance(value, Integral):
        return float(number_text(value)) if math.isfinite(value) else None
    return json_values(value.item()) if hasattr(value, "item") else str(value)


def product_text(count: SupportsInt, noun: str, each: SupportsInt, total: SupportsInt | None = None) -> str:
    """Return a product such as `13 slots × 40`; adds `would be 520` if that differs from `total`."""
    text = f"{plural(count, noun)} × {int(each):,}"
    come = int(count) * int(each)
    return text if total is None or int(total) == come else f"{text} would be {come:,}"


SHOWN = 80
"""Maximum number of characters of a value that a message quotes."""
MOST_LETTERS = 4_000
"""Maximum number of characters shown of a text, since Qt needs seconds for megabytes. Copying copies all of it."""


def visible(text: str, keep: str = "") -> str:
    """Escape control characters, bidirectional marks and lone surrogates, except those in `keep`."""
    if text.isprintable():
        return text
    return text.translate(_Escapes(keep))


class _Escapes(dict[int, str]):
    def __init__(self, keep: str) -> None:
        super().__init__()
        self._keep = keep

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        fit = letter.isprintable() or letter in self._keep
        shown = letter if fit else letter.encode("unicode_escape").decode("ascii")
        self[code] = shown
        return shown


# Compiled only when a text contains an address.
_ADDRESS = r"(?i)\b(https?|s3[an]?|gs)(:/{1,2})([^\s'\"`<>|]+)"
_VERSION = r"versionId=[A-Za-z0-9._~+-]+"
_PORT = r"\[.*\](:\d*)?|[^:]*(:\d*)?"


def without_secrets(text: str) -> str:
    """Remove logins and queries (possible signatures) from addresses in a text, even invalid ones (`http:/host/a`)."""
    return re.sub(_ADDRESS, _without_secret, text) if ":/" in text else text


def _without_secret(found: re.Match[str]) -> str:
    place, asks, query = found[3].partition("?")
    host, slash, path = place.partition("/")
    host = host.rpartition("@")[2]
    if not re.fullmatch(_PORT, host):
        # No host and port: the text was truncated within a login.
        host = "…"
    # Keep punctuation after the address, and a version, which is no secret.
    asked = query.rstrip(":;,.…)")
    end = query[len(asked) :] if asks else ""
    path += f"?{asked}" if re.fullmatch(_VERSION, asked) else ""
    return f"{found[1]}{found[2]}{host}{slash}{path}{end}"


_ESCAPED = r"^-|[^A-Za-z0-9_./:@+=,-]"
"""Characters that must be escaped: special to `printf` or a shell, or the start of an option."""


def shell_line(words: Iterable[str]) -> str:
    """Return a command line for a POSIX shell, with quoting. A word that is not printable becomes `"$(printf '...')"`.

    Return an empty string if a word contains a zero byte or ends with a newline: these cannot be quoted in this way.
    """
    import shlex

    found = [shlex.quote(word) if word.isprintable() else _printed(word) for word in words]
    return " ".join(found) if all(found) else ""


def typed(uri: str) -> str:
    """Return a path as a command argument. With a leading dash it gets the prefix `./`, as it would be an option."""
    return f"./{uri}" if uri.startswith("-") else uri


def _printed(word: str) -> str:
    try:
        raw = word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return ""
    if raw.endswith(b"\n") or b"\0" in raw:
        return ""
    text = re.sub(_ESCAPED, lambda one: f"\\{ord(one[0]):03o}", raw.decode("latin-1"))
    return f"\"$(printf '{text}')\""


def key_text(key: str) -> str:
    """Return a key as one line for `--keys`: itself, or a JSON string in ASCII if it is not printable."""
    import json

    return key if key.isprintable() else json.dumps(key).replace("\x7f", "\\u007f")


def short(value: object, most: int = SHOWN) -> str:
    """Return the `repr` of a value, truncated; large values are not converted completely."""
    # Never write out a whole value: a list may have a million numbers.
    if isinstance(value, (str, bytes)) and len(value) > most:
        return f"{value[:most]!r}…"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 4 * most:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(short(item, most) for item in value[:most])
        text = f"[{inner}{'' if len(value) <= most else ', …'}]"
    elif isinstance(value, dict):
        items = [pair for pair, _ in zip(value.items(), range(most), strict=False)]
        inner = ", ".join(f"{short(name, most)}: {short(item, most)}" for name, item in items)
        text = f"{{{inner}{'' if len(value) <= most else ', …'}}}"
    else:
        text = repr(value)
    return text if len(text) <= most else text[:most] + "…"


def said(value: object, most: int = 4 * SHOWN) -> str:
    """Return a value as text for messages, without Python's brackets, quotes and type names."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (bytes, bytearray)):
        text = bytes(value[:most]).hex()
    elif isinstance(value, dict):
        text = _listed((f"{name}: {_inside(inner, most)}" for name, inner in value.items()), most)
    elif isinstance(value, (Sequence, set, frozenset)) and not isinstance(value, str):
        text = _listed((_inside(item, most) for item in value), most)
    elif isinstance(value, int) and value.bit_length() > 4 * most:
        text = f"a number of {value.bit_length()} bits"
    else:
        text = str(value)
    return text if len(text) <= most else text[:most] + "…"


def _listed(texts: Iterable[str], most: int) -> str:
    found, letters = [], 0
    for text in texts:
        found.append(text)
        letters += len(text) + 2
        if letters > most + 2:
            break
    return ", ".join(found) or "none"


def _inside(value: object, most: int) -> str:
    text = said(value, most)
    return f"({text})" if isinstance(value, (dict, list, tuple)) and len(value) > 1 else text


def letters_of(raw: bytes) -> str:
    """Return bytes as printable ASCII text without trailing zeros; empty if they are not printable."""
    text = raw.rstrip(b"\0")
    return text.decode("ascii") if text and all(0x20 <= byte < 0x7F for byte in text) else ""


def hex_rows(data: bytes, start: int = 0, *, digits: int) -> Iterator[str]:
    """Yield a line per 16 bytes: the offset in `digits` characters, the bytes in hex, and the bytes as ASCII."""
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        letters = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{start + at:>#{digits}x}  {row.hex(' '):<48} {letters}"


def without_marks(sentence: str) -> str:
    """Remove back-ticks from a sentence, for plain text."""
    return sentence.replace("`", "")


def sentence(message: str) -> str:
    """Return a message as a sentence: the first word gets a capital letter, unless it is a name."""
    first, _, rest = message.partition(" ")
    start = first.capitalize() if first.isalpha() and first.islower() else first
    return f"{start} {rest}".rstrip(" .") + "."


def shown(text: str) -> str:
    if len(text) <= MOST_LETTERS and text.isprintable():
        return text
    return visible(_cut(text))


def shown_lines(text: str) -> str:
    if len(text) <= MOST_LETTERS and text.isprintable():
        return text
    return visible(_cut(text), keep="\n")


def _cut(text: str) -> str:
    if len(text) <= MOST_LETTERS:
        return text
    return f"{text[:MOST_LETTERS]} … ({len(text):,} characters)"
