"""File names for keys: safe on all common systems, inside the folder, unique, with an extension that fits."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable

from shardcore.system import FORBIDDEN, is_device

MAX_NAME_BYTES = 180
"""Maximum bytes of a file name; file systems allow 255, of which temporary names need some."""

MAX_DEPTH = 32
MAX_PATH_BYTES = 1000
"""A key with more than 32 parts or 1,000 bytes becomes one file name, since systems limit the length of paths."""


_SAFE = re.compile(rf"\w(?:[\w. -]{{0,{MAX_NAME_BYTES - 2}}}\w)?", re.ASCII)


class Names:
    """Unique file names for keys, safe on all common systems.

    A safe key is used unchanged. Other keys are cleaned, and `~` with eight digits of their sha256 is appended, so that
    the name hardly depends on other keys.

    Args:
        taken: Names that are not available.
        folders: Whether a key that is a relative path becomes a path. Its folders are cleaned, and made distinct from
            files and from folders in another case, in the same way.
    """

    def __init__(self, taken: Iterable[str] = (), *, folders: bool = False) -> None:
        self._taken = {_folded(name) for name in taken}
        self._folders = folders
        self._made: dict[tuple[str, ...], str] = {}
        self._digits: dict[str, int] = {}
        self._numbers: dict[str, int] = {}

    def give(self, key: str, ending: str = "") -> str:
        """Reserve and return a name for a key, unique regardless of case; `ending` is added if it has no extension."""
        folded = key.lower()
        if ending or not _SAFE.fullmatch(key) or folded in self._taken or is_device(folded):
            key = self.preview(key, ending)
            folded = _folded(key)
        self._taken.add(folded)
        return key

    def preview(self, key: str, ending: str = "") -> str:
        """Return the name that `give` would return, without reserving it."""
        above: tuple[str, ...] = ()
        last = key
        if self._folders and is_relative_path(key):
            *folders, last = key.split("/")
            above = tuple(folders)
        # Do not add an extension twice, and do not cut off text that only looks like one.
        ending = "" if has_ending(last) else ending
        return self._free(self._folder(above), last, key, ending)

    def rename(self, name: str) -> str:
        """Return an alternative for a name that exists: `a.txt` becomes `a (2).txt`."""
        parent, slash, last = name.rpartition("/")
        stem, ending = _parted(last)
        while True:
            number = self._numbers[name] = self._numbers.get(name, 1) + 1
            other = f"{parent}{slash}{stem} ({number}){ending}"
            if _folded(other) not in self._taken:
                self._taken.add(_folded(other))
                return other

    def _folder(self, parts: tuple[str, ...]) -> str:
        if not parts:
            return ""
        if parts not in self._made:
            folder = self._free(self._folder(parts[:-1]), parts[-1], "/".join(parts) + "/", "")
            self._taken.add(_folded(folder))
            self._made[parts] = folder + "/"
        return self._made[parts]

    def _free(self, parent: str, text: str, whole: str, ending: str) -> str:
        clean = _cleaned(text)
        name = clean + ending
        if clean != text or _folded(parent + name) in self._taken:
            digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
            stem, own = _parted(clean)
            stem = _cut(stem, MAX_NAME_BYTES - 20)
            # Repeated keys continue from the last number: trying all of them again would be O(n²).
            digits = self._digits.get(digest, 7)
            name = text
            while name == text or _folded(parent + name) in self._taken:
                digits += 1
                more = digest[:digits] if digits <= 64 else f"{digest[:32]}-{digits - 63}"
                name = f"{stem}~{more}{own or ending}"
            self._digits[digest] = digits - 1
        return parent + name


def is_relative_path(key: str) -> bool:
    """Return whether a key is a path below a folder: no empty part, no `.` or `..`, and not too long."""
    parts = key.split("/")
    if not 1 < len(parts) <= MAX_DEPTH or len(key) > MAX_PATH_BYTES:
        return False
    if len(key.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return False
    return not any(part.strip(" .") == "" for part in parts)


def has_ending(name: str) -> bool:
    """Return whether a name has an extension: a dot and a few characters that are not all digits."""
    ending = _parted(name)[1]
    return bool(ending) and not ending[1:].isdigit()


def _cleaned(key: str) -> str:
    kept = key
    if not key.isprintable() or not FORBIDDEN.isdisjoint(key):
        kept = "".join("_" if c in FORBIDDEN or not c.isprintable() else c for c in key)
    stem, ending = _parted(kept)
    kept = f"{_cut(stem, MAX_NAME_BYTES - len(ending.encode()))}{ending}".rstrip(" .").lstrip(" ")
    if kept.startswith((".", "-", "~")):
        kept = "_" + kept[1:]
    if not kept or is_device(kept):
        kept = "_" + kept
    return kept


def _parted(name: str) -> tuple[str, str]:
    stem, dot, suffix = name.rpartition(".")
    return (stem, dot + suffix) if dot and stem and len(suffix.encode("utf-8", "replace")) <= 8 else (name, "")


def _cut(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def _folded(name: str) -> str:
    """Return the same text for all names that some file system treats as one."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


HEAD = 4096
"""Bytes from which an extension is guessed."""

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
"""Offset, magic number and extension of file types; the first that matches determines the extension."""

ENDINGS = tuple(dict.fromkeys(("", *(ending for _, _, ending in MAGICS), ".json", ".txt")))
"""All extensions that can be guessed."""

_CONTAINERS = {b"WEBP": b"RIFF", b"WAVE": b"RIFF"}
_JSON_START = re.compile(r'\s*(\{\s*("|\})|\[\s*([\[\]{"\d-]|true|false|null))')
_TEXT_CONTROLS = frozenset("\t\n\r\f\x1b")


def ending_of(head: bytes, *, whole: bool) -> str:
    """Guess the file extension (with its dot) from the first `HEAD` bytes; empty if unknown."""
    for at, magic, ending in MAGICS:
        if head.startswith(magic, at) and head.startswith(_CONTAINERS.get(magic, b"")):
            return ending
    return _text_ending(head, whole=whole) if head else ""


def _text_ending(head: bytes, *, whole: bool) -> str:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut.
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
