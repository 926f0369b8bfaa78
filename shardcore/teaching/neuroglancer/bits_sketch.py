"""Drawing *Bits*: how the bits of a key select its shard and minishard, with adjustable numbers of bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from shardcore.errors import FormatError, UsageError
from shardcore.formats.neuroglancer.file import NeuroglancerFile
from shardcore.formats.neuroglancer.layout import ENTRY_SIZE, pair_span
from shardcore.formats.neuroglancer.lookup import KeySearched, MinishardLocated, MinishardRead
from shardcore.formats.neuroglancer.morton import CODE_BITS
from shardcore.formats.neuroglancer.origin import Origin
from shardcore.formats.neuroglancer.sharding import HASHES, KeyLocation, Keys, ShardingSpec
from shardcore.model.drawing import Control, ControlKind, Drawing, Figure, Item, Link, Table, Tone, chosen, window
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.span import Span
from shardcore.shards.cache import Once
from shardcore.teaching.neuroglancer.key_figures import (
    FILES,
    MINISHARDS,
    chosen_text,
    file_item,
    files_figure,
    hash_figure,
    index_figure,
    key_figure,
    minishard_item,
    minishards_figure,
    morton_figure,
)

MOVED_KEYS = 100_000
"""Maximum number of keys whose routes are computed again when a number of bits changes."""

NEIGHBOURS = 8
_SOUGHT = 4096
_HIGHEST = {"preshift_bits": 63, "minishard_bits": 32, "shard_bits": 32}
_LABELS = {"preshift_bits": "Dropped bits", "minishard_bits": "Minishard bits", "shard_bits": "Shard bits"}
_DOCS = {
    "preshift_bits": "preshift_bits: low bits of the key that are dropped, so that neighbours stay together.",
    "minishard_bits": "minishard_bits: bits of the hash that select the minishard in a file.",
    "shard_bits": "shard_bits: bits of the hash that select the file.",
}


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The open shards of a key space; `all` is True if these are all of its shards."""

    files: Sequence[NeuroglancerFile] = ()
    all: bool = False


@dataclass(frozen=True, slots=True)
class CachedKeys:
    """Keys in memory: the first keys, the number of keys, and True if these are all keys of the data set."""

    ids: Keys
    count: int
    complete: bool


class BitsSketch:
    """Drawing of the bits of a key, or of the first key of the file.

    `file` opens the shard when drawing (None if the lookup reached no shard); `beside` returns the open shards of the
    data set.
    """

    name = "bits"
    title = "Bits"

    def __init__(
        self,
        origin: Origin,
        key: int | None,
        file: Callable[[], NeuroglancerFile | None],
        beside: Callable[[], OpenFiles] | None = None,
    ) -> None:
        self._origin = origin
        self._beside = beside
        self._given = key
        self._opened = file
        self._first: Once[int] = Once()
        spec = origin.spec
        numbers = {name: getattr(spec, name) for name in _LABELS}
        self._highest = {name: max(value, _HIGHEST[name]) for name, value in numbers.items()}
        sliders = [
            Control(name, _LABELS[name], ControlKind.SLIDER, value, 0, self._highest[name], doc=_DOCS[name])
            for name, value in numbers.items()
        ]
        doc = "identity uses the key itself; MurmurHash3 spreads neighbouring keys over all minishards."
        hashes = Control("hash", "Hash", ControlKind.CHOICE, spec.hash, choices=HASHES, doc=doc)
        self.controls: tuple[Control, ...] = (*sliders, hashes)

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        spec = self._chosen(values)
        key = self._key()
        place = spec.place(key)
        what_if = spec != self._origin.spec
        figures: list[Figure] = [key_figure(spec, place, self._spec_spans(what_if), grips=True)]
        grid = self._origin.space.grid
        if grid is not None:
            figures.append(morton_figure(key, grid, spec))
        figures.append(hash_figure(spec, place, self._spec_spans(what_if), grips=True))
        more, caption = self._what_if(figures, spec, place) if what_if else self._stored_spec(figures, spec, place)
        names = {item.name for figure in figures for item in figure.items if item.size}
        wanted = (("shard in hash", "file here"), ("minishard in hash", "minishard here"), ("minishard here", "found"))
        links = tuple(Link(start, stop, tone=Tone.KEY) for start, stop in wanted if {start, stop} <= names)
        return Drawing(self._title(spec, place, what_if), tuple(figures), links, caption, more=more, what_if=what_if)

    # --- the real specification --------------------------------------------------------------------------------------

    def _stored_spec(self, figures: list[Figure], spec: ShardingSpec, place: KeyLocation) -> tuple[int, str]:
        """Add the figures for the real specification; return the number of omitted entries, and the caption."""
        file = self._file
        here = file is not None and file.number in (None, place.shard)
        figures.append(self._files(spec, place, here=here))
        rule = chosen_text(spec)
        if file is None or not here:
            return 0, f"{rule} The key belongs in {spec.shard_name(place.shard)}, so it is not in this file."
        fault = ""
        listed: KeySearched | None = None
        try:
            listed = self._minishard_of(place)
        except FormatError as error:
            fault = error.message
        shown = window(spec.minishards, place.minishard, MINISHARDS)
        load = len(listed.read.entries) if listed is not None else 0
        items = [self._minishard_item(file, n, place, load, fault) for n in shown]
        figures.append(minishards_figure(spec, place, items, shown))
        if listed is None or not len(listed.read.entries):
            end = f"The minishard is damaged: {fault}." if fault else "The minishard is empty: key not found."
            return 0, f"{rule} {end}"
        table = index_figure(listed)
        figures.append(table)
        end = (
            f"summed up from the left, entry {listed.at} is {place.key}"
            if len(listed.found)
            else f"no sum is {place.key}, so it is not found"
        )
        listing = f"The minishard stores its keys as differences: {end}."
        return len(listed.read.entries) - len(table.headings) + 1, f"{rule} {listing}"

    def _files(self, spec: ShardingSpec, place: KeyLocation, *, here: bool) -> Figure:
        tables = [(file.number, file.levels.known_table) for file in self._open_files().files]
        loads = {number: len(table.entries) for number, table in tables if number is not None and table is not None}
        shown = window(spec.shards, place.shard, FILES)
        items = []
        for number in shown:
            load, mine = loads.get(number), number == place.shard
            if mine or load is not None:
                item = file_item(number, load, here=mine)
                items.append(replace(item, text=spec.shard_stem(number)) if load is None else item)
        return files_figure(spec, place, items, shown)

    def _minishard_item(
        self, file: NeuroglancerFile, number: int, place: KeyLocation, load: int | None, fault: str
    ) -> Item:
        here = number == place.minishard
        if not here:
            load, fault = self._known_load(file, number)
        return minishard_item(number, load, here=here, span=pair_span(number), fault=fault)

    @staticmethod
    def _known_load(file: NeuroglancerFile, number: int) -> tuple[int | None, str]:
        """Return number of keys and damage of a minishard without reading; None if the number is unknown."""
        table = file.levels.known_table
        if table is not None:
            return (None, table.damage[number].message) if number in table.damage else (len(table.rows_of(number)), "")
        if file.levels.known_pairs is None:
            return None, ""
        try:
            start, stop = file.levels.pair(number, file.source)
        except FormatError as error:
            return None, error.message
        if start == stop or file.spec.minishard_index_encoding != "gzip":
            return (stop - start) // ENTRY_SIZE, ""
        return None, ""

    def _minishard_of(self, place: KeyLocation) -> KeySearched | None:
        file = self._file
        if file is None:
            return None
        start, stop = file.levels.pair(place.minishard, file.source)
        if start == stop:
            return None
        entries, size = file.levels.minishard(place.minishard, file.source, (start, stop))
        located = MinishardLocated(place, file.base, start, stop)
        read = MinishardRead(located, entries, size, file.spec.minishard_index_encoding)
        return KeySearched(read, np.flatnonzero(entries.ids == np.uint64(place.key)))

    # --- what if -----------------------------------------------------------------------------------------------------

    def _what_if(self, figures: list[Figure], spec: ShardingSpec, place: KeyLocation) -> tuple[int, str]:
        """Add the figures of the cached keys with a changed specification; return the same as `_stored_spec`."""
        known = self._cached_keys()
        moved = known.ids
        minishards, shards = spec.place_many(moved)
        files = window(spec.shards, place.shard, FILES)
        shown = window(spec.minishards, place.minishard, MINISHARDS)
        own = minishards[shards == np.uint64(place.shard)]
        loads = [int(np.count_nonzero(shards == np.uint64(number))) for number in files]
        file_items = [
            file_item(number, load, here=number == place.shard) for number, load in zip(files, loads, strict=True)
        ]
        loads = [int(np.count_nonzero(own == np.uint64(number))) for number in shown]
        items = [
            minishard_item(number, load, here=number == place.minishard)
            for number, load in zip(shown, loads, strict=True)
        ]
        figures += [files_figure(spec, place, file_items, files), minishards_figure(spec, place, items, shown)]
        together = moved[(shards == np.uint64(place.shard)) & (minishards == np.uint64(place.minishard))]
        neighbours = np.sort(together)
        figures.append(_neighbours_figure(neighbours.tolist()[:NEIGHBOURS], place))
        above = np.uint64(min(spec.minishard_bits, 63))
        used, counts = np.unique(shards << above | minishards, return_counts=True)
        # Sorted by file, so each change of the file number starts a new file.
        files_used = int(np.count_nonzero(np.diff(used >> above))) + 1 if spec.shard_bits else 1
        bound = f" Only the first {MOVED_KEYS:,} of {plural(known.count, 'key')} are counted." * (
            known.count > len(moved)
        )
        partly = "" if known.complete else " Only loaded keys are counted; load the index to count all."
        fullest = plural(counts.max(), "key") if len(counts) else "no key"
        if self._file is None:
            name = spec.shard_name(place.shard)
            return 0, f"With these numbers the key would belong in {name}, which does not exist in this data set."
        where = f"{plural(len(used), 'minishard')} of {plural(files_used, 'file')}"
        result = f"With these numbers {plural(len(moved), 'key')} would be in {where}, at most {fullest} in one."
        caption = f"{result}{bound}{partly}"
        return max(len(neighbours) - NEIGHBOURS, 0), caption

    def _cached_keys(self) -> CachedKeys:
        """Return the keys in memory; if no index is loaded, the keys of the minishard of the drawn key."""
        opened = self._open_files()
        tables = [file.levels.known_table for file in opened.files]
        known = [table.entries.ids for table in tables if table is not None]
        if count := sum(map(len, known)):
            # Only as many files as give this number of keys, because a data set may have thousands open.
            ends = accumulate(map(len, known), initial=0)
            first = [ids[: MOVED_KEYS - end] for ids, end in zip(known, ends, strict=False) if end < MOVED_KEYS]
            return CachedKeys(np.concatenate(first), count, opened.all and len(known) == len(tables))
        try:
            listed = self._minishard_of(self._origin.spec.place(self._key()))
        except FormatError:
            listed = None
        ids = listed.read.entries.ids if listed is not None else np.array([self._key()], np.uint64)
        return CachedKeys(ids[:MOVED_KEYS], len(ids), False)

    def _open_files(self) -> OpenFiles:
        if self._beside is not None:
            return self._beside()
        file = self._file
        return OpenFiles((file,) if file is not None else (), True)

    # --- the key and the numbers -------------------------------------------------------------------------------------

    @property
    def _file(self) -> NeuroglancerFile | None:
        return self._opened()

    def _key(self) -> int:
        return self._given if self._given is not None else self._first.get(self._first_key)

    def _first_key(self) -> int:
        """Return the first readable key of the file, or 0."""
        file = self._file
        if file is None:
            return 0
        if (table := file.levels.known_table) is not None:
            return int(table.entries.ids[0]) if len(table.entries) else 0
        rows = file.levels.rows(0, min(file.spec.minishards, _SOUGHT))
        used = np.flatnonzero(rows["start_offset"] < rows["end_offset"])
        for number in used[:NEIGHBOURS].tolist():
            try:
                entries, _ = file.levels.minishard(number, file.source)
            except FormatError:
                continue
            if len(entries):
                return int(entries.ids[0])
        return 0

    def _chosen(self, values: Mapping[str, Any]) -> ShardingSpec:
        numbers = chosen(self.controls, values)
        if (bits := numbers["minishard_bits"] + numbers["shard_bits"]) > CODE_BITS:
            raise UsageError(f"minishard_bits + shard_bits is {bits}; valid: 0 to 64, because a hash has 64 bits")
        return replace(self._origin.spec, **numbers)

    @staticmethod
    def _title(spec: ShardingSpec, place: KeyLocation, what_if: bool) -> str:
        where = f"minishard {place.minishard} of {spec.shard_name(place.shard)}"
        return f"Key {place.key} would belong in {where}" if what_if else f"Key {place.key} belongs in {where}"

    def _spec_spans(self, what_if: bool) -> tuple[Span, ...]:
        return (self._origin.place,) if self._origin.place is not None and not what_if else ()


def _neighbours_figure(keys: list[int], place: KeyLocation) -> Table:
    rows = []
    for number, key in enumerate(keys):
        before = keys[number - 1] if number else 0
        here = key == place.key
        rows.append((Item(f"+{key - before}"), Item(str(key), tone=Tone.HIT if here else Tone.PLAIN, here=here)))
    title = f"Keys that would share minishard {place.minishard} of file {grouped_digits(place.shard)}"
    return Table(title, ("difference from the key before", "key (running sum)"), tuple(rows))
