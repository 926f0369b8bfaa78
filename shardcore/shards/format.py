"""Format as the registry uses it: detection, opening, creation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardcore.model.options import Option, OptionPurpose
    from shardcore.shards.open_context import OpenContext
    from shardcore.shards.salvage import Damaged, SalvagedObject
    from shardcore.shards.shard import Shard
    from shardcore.sources.base import Folder
    from shardcore.sources.opening import PrefetchedSource
    from shardcore.writing.declaration import Writes


class Certainty(IntEnum):
    """Certainty of a detection; the higher wins."""

    PARTLY = 0
    """Something of the format is there, but not what opens it; names the candidate when nobody is surer."""
    INFERRED = 1
    """Nothing says so, but everything fits."""
    BESIDE = 2
    """Detected by a file beside it."""
    MAGIC = 3
    """The bytes say so themselves."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a format on bytes that may be its own.

    Attributes:
        certainty: How sure it is.
        why: One phrase: `magic SWHShard`, `inferred, 3 of 3 checks`.
    """

    certainty: Certainty
    why: str


@dataclass(frozen=True, slots=True)
class Detail:
    label: str = ""
    form: str = ""
    unit: str = ""
    yes: str = ""
    no: str = ""
    by: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """One format, as the registry lists it.

    Attributes:
        name: Short, lower case.
        title: What people call it.
        folder_title: What people call a data set of it.
        suffixes: Usual endings of file names.
        detect: Says whether the bytes are of this format, from their ends; None when nothing points to it.
        open: Opens them. Reads go through the prefetched source while opening; the shard keeps its `base`.
        infer: Says whether bytes without any mark fit the format; asked when no other format is even partly there.
        detect_folder: Says whether a folder is a data set of the format.
        open_folder: Opens it.
        writes: How it is written; None where it is not.
        edits: What can be changed in place, by the name of the command (`delete`, `truncate`, `append`): a function of
            the opened shard and of what the command was given, which makes an `Edit` and changes nothing. What they
            are given, and the words for it, are stored in `shardcore.writing.edit_options`.
            `rekey` is one that writes a new file.
        locate: Says in which shard a key would lie, from parameters alone.
        options: What can be chosen for opening, writing and locating.
        begins: The bytes with one of which every file of the format begins, as far as it can be recognised at all; a
            file that begins otherwise is not shown to `detect`. Empty where files may begin with anything.
        folder_names: Patterns of names, one of which usually lies in a data set of the format: it is asked about such a
            folder first, and about others only when nobody else knows them.
        head_names: Pattern (a regular expression) of the names of files that are opened by their first 64 KiB; others
            begin with a few bytes, and go on at another place.
        folder_mark: Name of the one file by which a data set of the format is recognised; empty where there is none.
        details: Presentation of the facts about its objects, by name; a fact that is not listed is shown by its name.
        summary: Presentation of the fields (`Shard.fields`) that a summary of a file shows: what its writer
            chose. Other fields are named in forms with `_` for the dot.
        salvage: Objects that can still be read from a damaged file; see `shardcore.shards.salvage`. None where a
            lookup finds all of them.
        marks: The same for formats whose files can be recognised without them, too: a file that begins so says what it
            is, and one that does not may still be of the format.
        specification: Address of the published specification; empty where there is none.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    detect: Callable[[PrefetchedSource], Verdict | None]
    open: Callable[[PrefetchedSource, OpenContext], Shard]
    infer: Callable[[PrefetchedSource], Verdict | None] | None = None
    detect_folder: Callable[[Folder], Verdict | None] | None = None
    open_folder: Callable[[Folder, OpenContext], Shard] | None = None
    writes: Writes | None = None
    edits: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    locate: Callable[..., dict[str, Any]] | None = None
    options: tuple[Option, ...] = ()
    begins: tuple[bytes, ...] = ()
    folder_names: tuple[str, ...] = ()
    marks: tuple[bytes, ...] = ()
    folder_mark: str = ""
    head_names: str = ""
    details: Mapping[str, Detail] = field(default_factory=dict)
    summary: Mapping[str, Detail] = field(default_factory=dict)
    salvage: Callable[[Damaged], Iterator[SalvagedObject]] | None = None
    specification: str = ""
    folder_title: str = ""

    def options_for(self, purpose: OptionPurpose) -> tuple[Option, ...]:
        """Return the options for one purpose."""
        return tuple(option for option in self.options if option.purpose is purpose)


def lazily(place: str) -> Callable[..., Any]:
    """Return a function that imports another one when it is first called.

    Formats are listed by what is cheap to import; what opens and writes them comes with NumPy and codecs.

    Args:
        place: `package.module:function`.
    """

    def call(*arguments: Any, **named: Any) -> Any:
        module, _, name = place.partition(":")
        return getattr(import_module(module), name)(*arguments, **named)

    return call
