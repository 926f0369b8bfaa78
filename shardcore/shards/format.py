"""`Format`: declaration of a format, with functions for detection, opening, writing and recovery, and display texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shardcore.dataclasses import dataclass, field

if TYPE_CHECKING:
    from shardcore.model.options import Option, OptionPurpose
    from shardcore.shards.open_context import OpenContext
    from shardcore.shards.salvage import Damaged, SalvagedObject
    from shardcore.shards.shard import Shard
    from shardcore.sources.base import Folder
    from shardcore.sources.prefetched_source import PrefetchedSource
    from shardcore.writing.declaration import Writes


class Certainty(IntEnum):
    """Certainty of a detection, in ascending order."""

    PARTLY = 0
    """The file has only part of the magic number; it is not opened, but the format is reported as a candidate."""
    INFERRED = 1
    """No magic number, but all checks of the structure pass."""
    BESIDE = 2
    """Detected by a file beside it, such as an `info`."""
    MAGIC = 3
    """Detected by its magic number."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of detection by one format.

    Attributes:
        certainty: Kind of evidence, by which formats are ranked.
        why: One phrase: `magic SWHShard`, `inferred, 3 of 3 checks`.
    """

    certainty: Certainty
    why: str


@dataclass(frozen=True, slots=True)
class Detail:
    """Display of a metadata value of an object (`ObjectRef.extras`).

    Attributes:
        label: Label; empty if another row shows the value.
        form: Format string for the value (`{}`) and other values by name; for a list of mappings, one for each of them.
        unit: Noun of a number: `byte`.
        yes: Text for a true value.
        no: Text for a false value.
        by: Separator of the numbers of a list.
        until: Name of another value, which has the ends of ranges; this value has their starts.
    """

    label: str = ""
    form: str = ""
    unit: str = ""
    yes: str = ""
    no: str = ""
    by: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """Declaration of one format.

    Attributes:
        name: Short name, lower case.
        title: Name for display.
        folder_title: Name of a data set for display.
        suffixes: Usual extensions of file names.
        detect: Returns a verdict on a file from its first and last bytes; None if nothing matches.
        open: Opens a file. Reads go through the prefetched source while opening; the shard keeps its `base`.
        infer: Returns a verdict on bytes without a magic number; called if no other format matches even partly.
        detect_folder: Returns a verdict on a folder.
        open_folder: Opens a data set.
        writes: Declaration for writing; None if the format cannot be written.
        edits: Edits, by command name (`delete`, `truncate`, `append`). Each is a function that gets the opened shard
            and the arguments of the command (see `shardcore.writing.declaration`), and returns an `Edit` without
            changing the file. `rekey` writes a new file.
        locate: Computes which shard contains a key, without reading a shard.
        options: Options for opening, writing and locating.
        begins: Magic numbers; a file that begins with none of them is not passed to `detect`. Empty if a file may begin
            with anything.
        folder_names: Patterns of file names in a data set of the format. A folder with such names is passed to its
            `detect_folder` first; any other folder only if no other format matches.
        head_names: Regular expression for file names. The first 64 KiB of such a file are fetched at once; of other
            files only a few bytes.
        folder_mark: Name of the marker file of a data set; empty if there is none.
        details: Display of the metadata of its objects, by name; an unlisted value is labelled by its name.
        summary: Display of the fields (`Shard.fields`) in the summary of a file. Format strings refer to other fields
            with `_` instead of the dot.
        salvage: Yields the objects of a damaged file; see `shardcore.shards.salvage`. None: those in the index.
        marks: Magic numbers of a format whose files may also have none.
        specification: Address of the published specification; empty if there is none.
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
        return tuple(option for option in self.options if option.purpose is purpose)


def lazily(place: str) -> Callable[..., Any]:
    """Return a function that calls the function `package.module:function`, and imports it on the first call.

    Listing the formats must be fast, while opening and writing import NumPy and codecs.
    """

    @cache
    def found() -> Callable[..., Any]:
        module, _, name = place.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function

    def call(*arguments: Any, **named: Any) -> Any:
        return found()(*arguments, **named)

    return call
