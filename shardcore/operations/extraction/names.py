"""File names for keys: safe on all common systems, inside the folder, and unique."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

from shardcore.system import FORBIDDEN, is_device

MAX_NAME_BYTES = 180
"""Maximum length of a file name; file systems allow 255 bytes, and temporary names need some."""

MAX_DEPTH = 32
MAX_PATH_BYTES = 1000
"""A key with more folders or bytes becomes one name, since systems limit the length of paths."""


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
        """Reserve and return a name for a key, unique also case-insensitively; a missing extension is `ending`."""
        name = self.preview(key, ending)
        self._taken.add(_folded(name))
        return name

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
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
