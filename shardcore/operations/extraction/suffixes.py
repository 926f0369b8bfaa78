"""Which ending the name of a file deserves, guessed from the first bytes of its content."""

from __future__ import annotations

import json
import re

HEAD = 4096
"""Bytes that a guess looks at."""

MAGICS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", ".png"),
    (0, b"\xff\xd8\xff", ".jpg"),
    (0, b"GIF87a", ".gif"),
    (0, b"GIF89a", ".gif"),
    (8, b"WEBP", ".webp"),
    (8, b"WAVE", ".wav"),
    (0, b"II*\0", ".tif"),
    (0, b"MM\0*", ".tif"),
    (0, b"%PDF-", ".pdf"),
    (0, b"PK\x03\x04", ".zip"),
    (0, b"PK\x05\x06", ".zip"),
    (0, b"\x1f\x8b\x08", ".gz"),
    (0, b"BZh", ".bz2"),
    (0, b"\xfd7zXZ\0", ".xz"),
    (0, b"\x28\xb5\x2f\xfd", ".zst"),
    (0, b"\x04\x22\x4d\x18", ".lz4"),
    (0, b"7z\xbc\xaf\x27\x1c", ".7z"),
    (257, b"ustar", ".tar"),
    (0, b"\x7fELF", ".elf"),
    (0, b"\xcf\xfa\xed\xfe", ".macho"),
    (0, b"\0asm", ".wasm"),
    (0, b"\x93NUMPY", ".npy"),
    (0, b"\x89HDF\r\n\x1a\n", ".h5"),
    (0, b"PAR1", ".parquet"),
    (0, b"SQLite format 3\0", ".sqlite"),
    (0, b"OggS", ".ogg"),
    (0, b"fLaC", ".flac"),
    (0, b"ID3", ".mp3"),
    (4, b"ftyp", ".mp4"),
)
"""Where a magic number stands, which, and the ending. A magic after another container's (`RIFF`) stands after it."""

_CONTAINERS = {b"WEBP": b"RIFF", b"WAVE": b"RIFF"}
_JSON_START = re.compile(r'\s*(\{\s*("|\})|\[\s*([\[\]{"\d-]|true|false|null))')
_TEXT_CONTROLS = frozenset("\t\n\r\f\x1b")


def ending_of(head: bytes, *, whole: bool) -> str:
    """The ending for a content, with its dot; empty when nothing speaks for one.

    Args:
        head: Its first bytes; `HEAD` of them are enough.
        whole: Whether that is all of it.
    """
    for at, magic, ending in MAGICS:
        if head.startswith(magic, at) and head.startswith(_CONTAINERS.get(magic, b"")):
            return ending
    return _text_ending(head, whole=whole) if head else ""


def _text_ending(head: bytes, *, whole: bool) -> str:
    """`.json` or `.txt` for UTF-8 text without control characters."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character may be cut at the end of what was read.
        if whole or error.start < len(head) - 3:
            return ""
        text = head[: error.start].decode("utf-8")
    if not text or any((c < " " and c not in _TEXT_CONTROLS) or c == "\x7f" for c in text):
        return ""
    if not _JSON_START.match(text):
        return ".txt"
    return ".json" if not whole or _is_json(text) else ".txt"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
