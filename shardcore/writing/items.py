"""What is to be written: objects whose content is opened only when its turn comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shardcore.errors import SourceError, reason_of
from shardcore.writing.writer import Data, Sized, Writer

Content = Path | bytes | Sized | Callable[[], Data]
"""Where content comes from: a file, bytes at hand, only a size (to plan), or a function that begins to read it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One object that is to be written.

    Attributes:
        key: In the text form of the format; None where the format makes it.
        content: Where its content comes from.
        label: What errors call it.
        name: The name of its file, relative, with `/`.
        parts: Further contents, by name.
        facts: What the format keeps about it.
        was: The key that it had elsewhere, for the result manifest; None where that is `key`.
        told: What the result manifest tells of it besides: facts that have no place in the format.
        known: Where an equal object was added before: the key under which that is found; this one is only told of.
    """

    key: str | None
    content: Content
    label: str = ""
    name: str = ""
    parts: Mapping[str, Content] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    was: str | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    known: str | None = None

    @property
    def old_key(self) -> str | None:
        """The key that it came with."""
        return self.was if self.was is not None else self.key

    def unread(self) -> Item:
        """The same with the sizes of files instead of their bytes, to plan; what only reading tells stays.

        Raises:
            SourceError: A file is not there.
        """
        parts = {part: _size_of(content) for part, content in self.parts.items()}
        return replace(self, content=_size_of(self.content), parts=parts)

    def add_to(self, writer: Writer) -> str:
        """Adds it; returns the key under which it is found, empty where it has none.

        Raises:
            UsageError: It does not fit the format.
            SourceError: Its bytes cannot be read or written.
        """
        if self.known is not None:
            return self.known
        with ExitStack() as stack:
            parts = {part: stack.enter_context(opened(content, self.label)) for part, content in self.parts.items()}
            data = stack.enter_context(opened(self.content, self.label))
            return writer.add(self.key, data, label=self.label, name=self.name, parts=parts, **self.facts)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What inputs are to a format.

    Attributes:
        items: The objects; made while they are asked for.
        options: What the inputs say about how to write (an `info` that lies with them); what people say goes before.
        notes: What people should know, a sentence each: files that are left out, and why. It is complete when all items
            were asked for.
    """

    items: Iterable[Item]
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


def _size_of(content: Content) -> Content:
    """Of a file its size."""
    if not isinstance(content, Path):
        return content
    try:
        return Sized(content.stat().st_size)
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {content}: {reason_of(error)}") from error


@contextmanager
def opened(content: Content, label: str = "") -> Iterator[Data]:
    """Content as a writer takes it; a file is closed afterwards.

    Args:
        content: The content.
        label: What errors call it; by default the path.

    Raises:
        SourceError: The file cannot be read.
    """
    if isinstance(content, Path):
        try:
            stream = content.open("rb")
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot read {label or content}: {reason_of(error)}") from error
        with stream:
            yield stream
    elif callable(content):
        yield content()
    else:
        yield content
