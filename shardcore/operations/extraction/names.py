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
    """Gives every key a file name of its own that is safe on every common system.

    Keys that are safe already keep their text. Others are cleaned and end with `~` and eight digits of the key's
    sha256, so that a name depends on little more than its key.

    Args:
        taken: Names that are not given.
        folders: Whether a key that is a plain relative path with `/` becomes a path; its folders are cleaned, and kept
            apart from files and from folders in another case, in the same way.
    """

    def __init__(self, taken: Iterable[str] = (), *, folders: bool = False) -> None:
        self._taken = {_folded(name) for name in taken}
        self._folders = folders
        self._made: dict[tuple[str, ...], str] = {}
        self._digits: dict[str, int] = {}
        self._numbers: dict[str, int] = {}

    def give(self, key: str, ending: str = "") -> str:
        """Return the name for a key, with `/` between folders; never the same twice, not even in another case.

        Args:
            key: The key.
            ending: What a name without an ending gets, with its dot.
        """
        name = self.preview(key, ending)
        self._taken.add(_folded(name))
        return name

    def preview(self, key: str, ending: str = "") -> str:
        """Return the name that `give` would return for a key, and leave it free."""
        above: tuple[str, ...] = ()
        last = key
        if self._folders and is_relative_path(key):
            *folders, last = key.split("/")
            above = tuple(folders)
        # The same ending is not added twice, and what looks like one is not lost.
        ending = "" if has_ending(last) else ending
        return self._free(self._folder(above), last, key, ending)

    def rename(self, name: str) -> str:
        """Return another name for what has a name already, for files that exist: `a.txt` becomes `a (2).txt`."""
        parent, slash, last = name.rpartition("/")
        stem, ending = _parted(last)
        while True:
            number = self._numbers[name] = self._numbers.get(name, 1) + 1
            other = f"{parent}{slash}{stem} ({number}){ending}"
            if _folded(other) not in self._taken:
                self._taken.add(_folded(other))
                return other

    def _folder(self, parts: tuple[str, ...]) -> str:
        """Return the folder for the first parts of keys, with a `/` at its end; empty for none."""
        if not parts:
            return ""
        if parts not in self._made:
            parent = self._folder(parts[:-1])
            folder = self._free(parent, parts[-1], "/".join(parts) + "/", "")
            self._taken.add(_folded(folder))
            self._made[parts] = folder + "/"
        return self._made[parts]

    def _free(self, parent: str, text: str, whole: str, ending: str) -> str:
        """Return a name in a folder that is free."""
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
    """Return whether a key is a path that leads down only: no empty part, no `.` or `..`, and not too long."""
    parts = key.split("/")
    if not 1 < len(parts) <= MAX_DEPTH or len(key) > MAX_PATH_BYTES:
        return False
    if len(key.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return False
    return not any(part.strip(" .") == "" for part in parts)


def has_ending(name: str) -> bool:
    """Return whether a name ends as those of a kind of file do: a dot, and few characters that are not all digits."""
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
    """Return a name without its ending, and the ending with its dot where it is short enough to be one."""
    stem, dot, suffix = name.rpartition(".")
    return (stem, dot + suffix) if dot and stem and len(suffix.encode("utf-8", "replace")) <= 8 else (name, "")


def _cut(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def _folded(name: str) -> str:
    """Name that some file system takes for the same are equal in this form."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
