"""Objects to write. Contents are opened when needed, and compared with the size and digest in the manifest."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from shardcore.errors import SourceError, reason_of
from shardcore.model.number_text import grouped_digits
from shardcore.system import open_file
from shardcore.writing.writer import Data, Sized, UnreadableInput, Writer, pieces_of

Content = str | Path | bytes | Sized | Callable[[], Data]
"""Content: a path, bytes, only a size (to plan), or a function that starts reading."""

SMALL_FILE = 1 << 16
"""Maximum size of a file that is read at once."""


@dataclass(slots=True)
class Stated:
    """Size and sha256 of a content as stated in a manifest; None and empty if missing."""

    size: int | None = None
    sha256: str = ""

    def check_size(self, size: int, label: str) -> None:
        if self.size is not None and self.size != size:
            have, want = grouped_digits(size), grouped_digits(self.size)
            raise SourceError(f"{label} has {have} bytes; the manifest states {want}")

    def check_sha256(self, sha256: str, label: str) -> None:
        if self.sha256 and self.sha256 != sha256:
            raise SourceError(f"{label} has the sha256 {sha256}; the manifest states {self.sha256}")


NOTHING_STATED = Stated()


# Not frozen (nor `Stated` and `More`): creating frozen instances is three times as slow, and there are millions.
@dataclass(slots=True)
class InputItem:
    """Object to write.

    Attributes:
        key: Text form; None if the format computes it.
        content: Path, bytes, stream or size of its content.
        label: Name in errors.
        name: Relative file name, with `/`.
        parts: Further contents, by name.
        stated: Stated size and digest by part; "" is the content itself.
        facts: Metadata that the format stores, by name.
        path: Path of its file, if `content` is only a size.
        was: Key in the source, for the result manifest; None if unchanged.
        recorded: Metadata that the format cannot store; it is only written to the result manifest.
        known: Key of an equal object that was added before; this object is then only listed in the result manifest.
    """

    key: str | None
    content: Content
    label: str = ""
    name: str = ""
    parts: Mapping[str, Content] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    was: str | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)
    known: str | None = None
    stated: Mapping[str, Stated] = field(default_factory=dict)
    path: str = ""

    @property
    def old_key(self) -> str | None:
        return self.was if self.was is not None else self.key

    @property
    def origin(self) -> str:
        """Path of its file if it has one, else its label."""
        if isinstance(self.content, (str, Path)):
            return str(self.content)
        return self.path or self.label

    def unread(self) -> InputItem:
        """Return the item with sizes instead of contents, for a plan."""
        parts = {part: _size_of(content, self.label, self._stated(part)) for part, content in self.parts.items()}
        return replace(self, content=_size_of(self.content, self.label, self._stated()), parts=parts, path=self.origin)

    def add_to(self, writer: Writer) -> str:
        """Add it to a writer; return its key, empty if it has none."""
        if self.known is not None:
            return self.known
        if isinstance(self.content, (str, Path)) and not self.parts:
            small = _read_small(self.content, self.label, self._stated())
            if small is not None:
                whole, before = small
                key = writer.add(self.key, whole, label=self.label, name=self.name, **self.facts)
                check_unchanged(self.content, self.label or str(self.content), before)
                return key
        with ExitStack() as stack:
            parts = {
                part: stack.enter_context(opened(content, self.label, self._stated(part)))
                for part, content in self.parts.items()
            }
            data = stack.enter_context(opened(self.content, self.label, self._stated()))
            return writer.add(self.key, data, label=self.label, name=self.name, parts=parts, **self.facts)

    def _stated(self, part: str = "") -> Stated:
        return self.stated.get(part, NOTHING_STATED)


@dataclass(frozen=True, slots=True)
class FormatInputs:
    """Inputs after conversion by a rule of the format.

    Attributes:
        items: The objects, created when they are needed.
        options: Options found in the inputs, such as those of an `info`; options of the user take precedence.
        notes: Messages, such as about skipped files; complete after iteration.
    """

    items: Iterable[InputItem]
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


def _size_of(content: Content, label: str, stated: Stated) -> Content:
    if not isinstance(content, (str, Path)):
        return content
    try:
        size = Path(content).stat().st_size
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"cannot read {content}: {reason_of(error)}") from error
    stated.check_size(size, label or str(content))
    return Sized(size)


@contextmanager
def opened(content: Content, label: str = "", stated: Stated = NOTHING_STATED) -> Iterator[Data]:
    """Open a content for a writer. Raises SourceError if a file changes meanwhile or differs from `stated`."""
    if isinstance(content, (str, Path)):
        label = label or str(content)
        try:
            stream = Path(content).open("rb")  # noqa: SIM115 - closed below
        except (OSError, ValueError) as error:
            raise UnreadableInput(f"cannot read {label}: {reason_of(error)}") from error
        with stream:
            before = os.fstat(stream.fileno())
            regular = stat.S_ISREG(before.st_mode)
            if stated == NOTHING_STATED:
                yield stream
            else:
                if regular:
                    stated.check_size(before.st_size, label)
                read = _StatedStream(stream, label, stated)
                yield read  # type: ignore[misc]  # has the methods of a stream that writers use
                read.check()
            if regular:
                check_unchanged(content, label, before)
    elif callable(content):
        yield content()
    else:
        yield content


def _read_small(path: str | Path, label: str, stated: Stated) -> tuple[bytes, os.stat_result] | None:
    """Read a small regular file with few system calls; None for any other file.

    Returns the content, and the status of the file before it was read, for `check_unchanged`.
    """
    label = label or str(path)
    try:
        descriptor = open_file(path, os.O_RDONLY, follow_links=True)
    except (OSError, ValueError):
        return None  # `opened` raises the error
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode) or not 0 < before.st_size <= SMALL_FILE:
            return None
        stated.check_size(before.st_size, label)
        data = os.read(descriptor, before.st_size)
    except OSError as error:
        raise UnreadableInput(f"cannot read {label}: {reason_of(error)}") from error
    finally:
        os.close(descriptor)
    if len(data) != before.st_size:
        return None
    if stated.sha256:
        stated.check_sha256(hashlib.sha256(data).hexdigest(), label)
    return data, before


class _StatedStream:
    """Stream of a file that computes its size and digest and compares them with the stated ones at the end."""

    def __init__(self, stream: IO[bytes], label: str, stated: Stated) -> None:
        self._stream = stream
        self._label = label
        self._stated = stated
        self._digest = hashlib.sha256() if stated.sha256 else None
        self._size = 0
        self.seekable, self.seek, self.tell = stream.seekable, stream.seek, stream.tell

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._size += len(piece)
        if self._digest is not None:
            self._digest.update(piece)
        return piece

    def check(self) -> None:
        for _ in pieces_of(self, self._label):  # type: ignore[arg-type]
            pass
        self._stated.check_size(self._size, self._label)
        if self._digest is not None:
            self._stated.check_sha256(self._digest.hexdigest(), self._label)


def check_unchanged(path: str | Path, label: str, before: os.stat_result) -> None:
    """Raise SourceError if a file was replaced or written to since `before`."""
    try:
        after = os.stat(path)  # noqa: PTH116 - of a text, this is quicker
    except OSError as error:
        raise SourceError(f"{label} changed while it was packed: {reason_of(error)}; pack again") from error
    if after.st_size != before.st_size:
        sizes = f"{grouped_digits(before.st_size)}bytes before, then {grouped_digits(after.st_size)}"
        raise SourceError(f"{label} changed while it was packed: {sizes}; pack again")
    if (after.st_mtime_ns, after.st_ino, after.st_dev) != (before.st_mtime_ns, before.st_ino, before.st_dev):
        raise SourceError(f"{label} changed while it was packed; pack again")
