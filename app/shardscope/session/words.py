"""Numbers, sizes and names as the window writes them, one way everywhere. No Qt."""

from __future__ import annotations

import re

from shardcore import Node
from shardcore.model.number_words import plural, size_text
from shardcore.model.source_name import SourceName
from shardcore.model.text import without_marks
from shardcore.system import last_part

LONGEST_NAME = 22
"""Characters of a name that are shown; of longer ones the middle is left out."""

_ALONE = re.compile(
    r"""(?:(?<![^\s(\[=→×<>…])|(?<=\.\.))   # after a blank, a bracket, a sign, or the dots of a range
        ([1-9]\d{3,19})                     # what begins with 0 is a digest, or bytes in hex
        (?![\w:/'"-])(?!,\d)(?!\.\d)        # a date, a name, a fraction, or commas already
    """,
    re.VERBOSE,
)
"""A number that stands for itself in a sentence, and is no part of something else."""

_BEFORE_KEYS = frozenset(
    {
        *("computed", "stored", "key", "keys", "uid", "uids", "id", "seed", "hash", "version"),
        *("object", "skeleton", "mesh", "annotation", "called"),
    }
)
"""Words after which a number is a key, a digest or a name."""


def grouped(sentence: str) -> str:
    """Return a sentence as the window shows it: its numbers have commas, keys and digests have none.

    The sentences of shardcore are the same for the command line, where an offset is written as it is typed.
    """

    def with_commas(match: re.Match[str]) -> str:
        before = sentence[max(match.start() - 20, 0) : match.start()].split()
        counted = sentence[match.end() :].startswith(" byte")
        is_key = bool(before) and (before[-1].lower() in _BEFORE_KEYS or before[-2:] == ["fragments", "of"])
        return match[0] if is_key and not counted else f"{int(match[0]):,}"

    return _ALONE.sub(with_commas, sentence)


def sentence(text: str) -> str:
    """Return what the library says of an error, as a sentence that stands alone: without back-ticks, begun and ended.

    What begins with a key or the name of a field keeps its first letter.
    """
    said = without_marks(text).strip()
    if re.match(r"[a-z]+(?=[\s,])", said):
        said = said[0].upper() + said[1:]
    return said if not said or said[-1] in ".!?…" else f"{said}."


def source_words(name: str) -> str:
    """Return the name of a source as a person says it: `0.shard`, `decoded bytes 64–129`; empty for the file itself."""
    parsed = SourceName.parse(name)
    if not parsed.stretches:
        return parsed.path
    start, stop = parsed.stretches[-1]
    outer = source_words(str(parsed.outer))
    return f"decoded bytes {start:,}–{stop:,}" + (f" of {outer}" if outer else "")


def node_name(node: Node) -> str:
    """Return the name of a node; of one that is a whole source, that of the source in words."""
    return source_words(node.name) if node.name == node.span.source else node.name


def short_size(size: int) -> str:
    """Return a size for a narrow column: the exact number of bytes up to a million, `size_text` above."""
    return f"{size:,}" if size < 1_000_000 else size_text(size)


def known_size(size: int) -> str:
    """Return a number of bytes in words; -1 is one that is unknown before reading."""
    return "unknown until read" if size < 0 else plural(size, "byte")


def share_text(part: int, whole: int) -> str:
    """Return a share as a person reads it: `12.5 %`, `< 0.1 %`."""
    share = 100 * part / whole if whole else 0.0
    if 0 < share < 0.1:
        return "< 0.1 %"
    return f"{share:.1f} %"


def cut_end(text: str, longest: int) -> str:
    """Return a text without its end, when it is long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cut_middle(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name without its middle, when it is long: the middle of a key states least."""
    return name if len(name) <= longest else f"{name[: longest // 2]}…{name[-(longest // 2 - 1) :]}"


def short_name(address: str) -> str:
    """Return the last part of an address, without its middle when it is long."""
    return cut_middle(last_part(address))
