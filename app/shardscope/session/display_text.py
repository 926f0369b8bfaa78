"""Numbers, sizes and names as the window shows them. No Qt."""

from __future__ import annotations

import re

from shardcore import FieldRole, Node, Span
from shardcore.model import details
from shardcore.model.span import SourceName
from shardcore.model.text import ends_text, long_size, range_text, without_marks
from shardcore.system import last_part

LONGEST_NAME = 22

_ALONE = re.compile(
    r"""(?:(?<![^\s(\[=→×<>…])|(?<=\.\.))   # after a blank, a bracket, a sign, or the dots of a range
        ([1-9]\d{3,19})                     # what begins with 0 is a digest, or bytes in hex
        (?![\w:/'"-])(?!,\d)(?!\.\d)        # a date, a name, a fraction, or commas already
    """,
    re.VERBOSE,
)
"""Matches numbers in a sentence, except in dates, names, fractions, and numbers with separators."""

_HEX_WORD = re.compile(r"(?=\d*[a-f])[0-9a-f]+")
_BEFORE_KEYS = frozenset(
    {
        *("computed", "stored", "key", "keys", "uid", "uids", "id", "seed", "hash", "version"),
        *("object", "skeleton", "mesh", "annotation", "called"),
    }
)
"""Matches words that precede a number which is a key, digest or name."""


_HEX = re.compile(r"(?<!\w)0x(0|[1-9a-f][0-9a-f]{0,13})(?!\w)")
"""Matches offsets in messages of shardcore: hashes are longer; flags and bytes have leading zeros."""


class _Notation:
    decimal = False


def set_decimal(decimal: bool) -> None:
    """Show offsets in decimal instead of hexadecimal notation, everywhere."""
    _Notation.decimal = decimal


def numbers(text: str) -> str:
    return _HEX.sub(lambda match: f"{int(match[1], 16):,}", text) if _Notation.decimal else text


def offset_words(offset: int) -> str:
    return f"{offset:,}" if _Notation.decimal else f"{offset:#x}"


def range_words(start: int, stop: int, source: str = "") -> str:
    """Return `[start, stop)` with both ends included: `0x1171–0x1178 · 8 bytes`."""
    return numbers(range_text(start, stop, source))


def span_words(span: Span, longest: int | None = None) -> str:
    source = source_words(span.source)
    return range_words(span.start, span.stop, cut_middle(source, longest) if longest else source)


def headline(node: Node) -> str:
    return _placed(details.headline(node), node)


def grouped_value(node: Node) -> str:
    return _placed(details.grouped_value(node), node)


def _placed(text: str, node: Node) -> str:
    return numbers(text) if node.role is FieldRole.OFFSET or node.target is not None else text


def grouped(sentence: str) -> str:
    """Return a sentence with thousands separators in its numbers, except in keys and digests."""

    def with_commas(match: re.Match[str]) -> str:
        before = sentence[max(match.start() - 20, 0) : match.start()].split()
        counted = sentence[match.end() :].startswith(" byte")
        is_key = bool(before) and (before[-1].lower() in _BEFORE_KEYS or before[-2:] == ["fragments", "of"])
        beside = [*before[-1:], *sentence[match.end() :].split(maxsplit=1)[:1]]
        in_hex = any(len(word) == len(match[0]) and _HEX_WORD.fullmatch(word) for word in beside)
        return match[0] if in_hex or (is_key and not counted) else f"{int(match[0]):,}"

    return numbers(_ALONE.sub(with_commas, sentence))


def sentence(text: str) -> str:
    """Return an error message as a sentence; a key or field name at the beginning is not capitalised."""
    said = without_marks(text).strip()
    if re.match(r"[a-z]+(?=[\s,])", said):
        said = said[0].upper() + said[1:]
    return said if not said or said[-1] in ".!?…" else f"{said}."


def source_words(name: str) -> str:
    parsed = SourceName.parse(name)
    if not parsed.stretches:
        return parsed.path
    start, stop = parsed.stretches[-1]
    outer = source_words(str(parsed.outer))
    return f"decoded bytes {numbers(ends_text(start, stop))}" + (f" of {outer}" if outer else "")


def node_name(node: Node) -> str:
    return source_words(node.name) if node.name == node.span.source else node.name


def known_size(size: int) -> str:
    return "unknown until read" if size < 0 else long_size(size)


def share_text(part: int, whole: int) -> str:
    share = 100 * part / whole if whole else 0.0
    if 0 < share < 0.1:
        return "< 0.1 %"
    return f"{share:.1f} %"


def cut_end(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cut_middle(name: str, longest: int = LONGEST_NAME) -> str:
    return name if len(name) <= longest else f"{name[: longest // 2]}…{name[-(longest // 2 - 1) :]}"


def short_name(address: str) -> str:
    return cut_middle(last_part(address))
