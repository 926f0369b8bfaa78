"""Text that came out of a file, made fit to be shown: a key, a name or a member of JSON may hold anything."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

SHOWN = 80
"""Letters of a value that a sentence quotes."""
MOST_LETTERS = 4_000
"""Letters of one text that are shown: Qt takes seconds to lay out some MB of them. Copies are whole."""


def visible(text: str, keep: str = "") -> str:
    """Text without anything that would act instead of being seen; what would is shown as an escape.

    Control characters and escape sequences move the cursor, marks of direction turn the text around them
    (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), and lone surrogates cannot be written at all.

    Args:
        text: Any text.
        keep: Characters that stay as they are: line ends, where the place that shows the text has lines.
    """
    if text.isprintable():
        return text
    return text.translate(_Escapes(keep))


class _Escapes(dict[int, str]):
    """Escaped form of each letter, computed at its first use: keys of a thousand letters are no rarity."""

    def __init__(self, keep: str) -> None:
        super().__init__()
        self._keep = keep

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        fit = letter.isprintable() or letter in self._keep
        shown = letter if fit else letter.encode("unicode_escape").decode("ascii")
        self[code] = shown
        return shown


_ADDRESS = re.compile(r"\b(https?|s3[an]?|gs)(:/{1,2})([^\s'\"`<>|]+)", re.IGNORECASE)
_VERSION = re.compile(r"versionId=[A-Za-z0-9._~+-]+")
_PORT = re.compile(r"\[.*\](:\d*)?|[^:]*(:\d*)?")


def without_secrets(text: str) -> str:
    """Return a message in which addresses have no login and no query: a signature may be in it.

    It also finds addresses that were taken for paths (`http:/host/a`) or cut.
    """
    return _ADDRESS.sub(_without_secret, text) if ":/" in text else text


def _without_secret(found: re.Match[str]) -> str:
    place, asks, query = found[3].partition("?")
    host, slash, path = place.partition("/")
    host = host.rpartition("@")[2]
    if not _PORT.fullmatch(host):
        # A login that was cut before its end.
        host = "…"
    # What follows the address in the sentence stays, and so does a version, which is no secret.
    asked = query.rstrip(":;,.…)")
    end = query[len(asked) :] if asks else ""
    path += f"?{asked}" if _VERSION.fullmatch(asked) else ""
    return f"{found[1]}{found[2]}{host}{slash}{path}{end}"


_ESCAPED = re.compile(r"^-|[^A-Za-z0-9_./:@+=,-]")
"""Bytes that `printf` gets as numbers: they mean something in its format or to a shell, or it would take an option."""


def shell_line(words: Iterable[str]) -> str:
    """Return a line for a POSIX shell that holds no character which acts when the line is pasted.

    Control characters end a bracketed paste, and marks of direction hide what a line does: a word that has any is
    written as `"$(printf '...')"` in printable ASCII.

    Args:
        words: The program and its arguments, none of them with a zero byte.

    Returns:
        The line; empty where no such line gives the words: a word ends with a line end, or holds a zero byte.
    """
    found = [shlex.quote(word) if word.isprintable() else _printed(word) for word in words]
    return " ".join(found) if all(found) else ""


def typed(uri: str) -> str:
    """Return a path or address as the argument of a command: one that begins with a dash is not an option."""
    return f"./{uri}" if uri.startswith("-") else uri


def _printed(word: str) -> str:
    """Return a word as what `printf` prints; empty where a substitution would cut it."""
    try:
        raw = word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return ""
    if raw.endswith(b"\n") or b"\0" in raw:
        return ""
    text = _ESCAPED.sub(lambda one: f"\\{ord(one[0]):03o}", raw.decode("latin-1"))
    return f"\"$(printf '{text}')\""


def key_text(key: str) -> str:
    """Return a key as one line of text: itself, or a JSON string in printable ASCII where it would act.

    `--keys` reads both forms.
    """
    return key if key.isprintable() else json.dumps(key).replace("\x7f", "\\u007f")


def short(value: object, most: int = SHOWN) -> str:
    """Return a value as a sentence quotes it: its `repr`, cut where it becomes long.

    Args:
        value: A value that JSON text can hold, or any text.
        most: Letters that are kept.
    """
    # Most of a value is never written out: a list of a million numbers would be, for its first eighty letters.
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
    """Return a value as a person reads it: no brackets, quotes or names of a programming language.

    Args:
        value: Anything that a step or an object tells: numbers, texts, bytes, lists, mappings.
        most: Letters that are kept.
    """
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
    """Texts with commas between them, no more of them than are kept."""
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
    """Return the text that some bytes are, without the zeros after it; empty where they are none.

    Args:
        raw: A magic, a name. Bytes of which one is not printable ASCII are no text.
    """
    text = raw.rstrip(b"\0")
    return text.decode("ascii") if text and all(0x20 <= byte < 0x7F for byte in text) else ""


def hex_rows(data: bytes, start: int = 0, *, digits: int) -> Iterator[str]:
    """Yield bytes as rows of 16: offset, hex, ASCII letters.

    Args:
        data: The bytes.
        start: Offset of the first one.
        digits: Width of the offsets, which are hexadecimal.
    """
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        letters = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{start + at:>#{digits}x}  {row.hex(' '):<48} {letters}"


def without_marks(sentence: str) -> str:
    """A sentence of the documentation without the back-ticks around its names, for places that show plain text."""
    return sentence.replace("`", "")


def sentence(message: str) -> str:
    """Return what an error says, as a sentence; names of files and fields stay as they are."""
    first, _, rest = message.partition(" ")
    start = first.capitalize() if first.isalpha() and first.islower() else first
    return f"{start} {rest}".rstrip(" .") + "."


def shown(text: str) -> str:
    """Text for a cell, a title or a line: control characters and marks of direction are escapes, the end is cut."""
    return visible(_cut(text))


def shown_lines(text: str) -> str:
    """As `shown`, where there are lines: line ends stay."""
    return visible(_cut(text), keep="\n")


def _cut(text: str) -> str:
    """Return a text of bearable length."""
    if len(text) <= MOST_LETTERS:
        return text
    return f"{text[:MOST_LETTERS]} … ({len(text):,} characters)"
