"""Names of files for keys: safe on every common system, never outside the folder, no two the same."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

from shardcore.system import FORBIDDEN, is_device

MAX_NAME_BYTES = 180
"""Longest file name given; every common file system takes 255 bytes, and temporary names need some."""

MAX_DEPTH = 32
MAX_PATH_BYTES = 1000
"""Keys with more folders, or longer ones, become one name: systems take paths up to some length only."""


class Names:
    def __init__(self, taken: Iterable[str] = (), *, folders: bool = False) -> None:
        self._taken = {_folded(name) for name in taken}
        self._folders = folders
        self._made: dict[tuple[str, ...], str] = {}
        self._digits: dict[str, int] = {}
        self._numbers: dict[str, int] = {}

    def give(self, key: str, ending: str = "") -> str:
        name = self.preview(key, ending)
        self._taken.add(_folded(name))
        return name

    def preview(self, key: str, ending: str = "") -> str:
        above: tuple[str, ...] = ()
        last = key
        if self._folders and is_relative_path(key):
            *folders, last = key.split("/")
            above = tuple(folders)
        # The same ending is not added twice, and what looks like one is not lost.
        ending = "" if has_ending(last) else ending
        return self._free(self._folder(above), last, key, ending)

    def rename(self, name: str) -> str:
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
            parent = self._folder(parts[:-1])
            folder = self._free(parent, parts[-1], "/".join(parts) + "/", "")
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
            # A key that comes again and again goes on where it was, instead of trying every number again.
            digits = self._digits.get(digest, 7)
            name = text
            while name == text or _folded(parent + name) in self._taken:
                digits += 1
                more = digest[:digits] if digits <= 64 else f"{digest[:32]}-{digits - 63}"
                name = f"{stem}~{more}{own or ending}"
            self._digits[digest] = digits - 1
        return parent + name


def is_relative_path(key: str) -> bool:
    parts = key.split("/")
    if not 1 < len(parts) <= MAX_DEPTH or len(key) > MAX_PATH_BYTES:
        return False
    if len(key.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return False
    return not any(part.strip(" .") == "" for part in parts)


def has_ending(name: str) -> bool:
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
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
