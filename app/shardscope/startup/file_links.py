"""Links into files, `FILE#offset` and `FILE#start-stop`, as on the command line. No Qt here."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from pathlib import Path

from shardcore import Span, UsageError
from shardcore.model.inside_path import split_inside
from shardcore.sources.location import local_path
from shardcore.sources.remote.address import is_address

_COMMAND = "shardscope "
_NUMBER = r"(?:0[xX][0-9a-fA-F]+|\d+)"
_LINK = re.compile(rf"(?P<file>.+)#(?:(?P<source>[^#]+):)?(?P<start>{_NUMBER})(?:-(?P<stop>{_NUMBER}))?", re.DOTALL)


def pasted_link(text: str) -> tuple[str, Span | None]:
    """Return the link in a pasted text or `shardscope` command line. Accesses the disk: call it in a job."""
    if text.startswith(_COMMAND) and not _is_there(text):
        with suppress(ValueError):
            words = shlex.split(text)
            text = words[1] if len(words) == 2 else text
    return split_link(text)


def may_be_link(text: str) -> bool:
    """Return whether a text may contain more than a path or address; does not access the disk."""
    return "#" in text or text.startswith(_COMMAND)


def split_link(text: str) -> tuple[str, Span | None]:
    """Return a path or address, and the bytes to select in it or None.

    - `a.shard#72` selects the byte at 72, `a.shard#72-80` eight bytes
    - `a.shard#@100-200:5` selects a byte of the bytes that 100 to 200 decode to
    - `a.des#/2090#72` selects a byte of the object 2090

    An existing file with such a name is opened itself. `file://` URLs are accepted. Accesses the disk.
    """
    if text.startswith("file://"):
        url, mark, place = text.partition("#")
        text = f"{local_path(url)}{mark}{place}"
    found = _LINK.fullmatch(text)
    if found is None or _is_there(text):
        return text, None
    if not is_address(text) and not _is_there(_file_of(found["file"])):
        return text, None
    start = int(found["start"], 0) if found["start"][:2].lower() == "0x" else int(found["start"])
    last = found["stop"]
    stop = start + 1 if last is None else int(last, 0) if last[:2].lower() == "0x" else int(last)
    return found["file"], Span(found["source"] or "", start, max(stop, start))


def _file_of(text: str) -> str:
    try:
        return split_inside(text)[0]
    except UsageError:
        return text


def _is_there(text: str) -> bool:
    if is_address(text):
        return False
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False
