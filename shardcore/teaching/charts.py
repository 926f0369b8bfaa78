"""Charts as data: bins along an axis and a value per bin, at most 4,000 bins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.model.objects import Objects, State, exact_sum
from shardcore.model.text import plural
from shardcore.model.usage import Load, binomial
from shardcore.progress import Progress, no_progress

MOST_BINS = 4000

FEW_PLACES = 400
"""Number of slots or buckets up to which each is shown by default; above it, their distribution is shown."""

_STEP = 1 << 18
_FEW_OCTAVES = 4

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Chart with a value per bin between `edges`; with `of_sizes`, edges are bytes on an axis of powers of two."""

    name: str
    title: str
    note: str
    x: str
    y: str
    edges: NDArray[np.float64] | I64
    values: F64
    of_sizes: bool = False
    ideal: F64 | None = None
    ideal_name: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {one: getattr(self, one) for one in ("name", "title", "note", "x", "y")}
        found |= {"edges": _numbers(self.edges), "values": _numbers(self.values)}
        if self.ideal is not None:
            found |= {"ideal": _numbers(self.ideal), "ideal_name": self.ideal_name}
        return found


def many(noun: str) -> str:
    return plural(2, noun).partition(" ")[2]


def _numbers(values: F64 | I64) -> list[float]:
    return [int(value) if value == int(value) else round(value, 6) for value in values.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    kind: str
    kinds: tuple[tuple[str, int], ...]
    edges: I64
    counts: I64
    stored: bool
    unknown: int
    total: int
    largest: int
    median: int

    @property
    def objects(self) -> int:
        return int(self.counts.sum())

    def chart(self) -> Chart:
        """Return a histogram of the uncompressed sizes, or of the stored sizes if no uncompressed size is known."""
        unit = "stored bytes" if self.stored else "bytes"
        note = f"{plural(self.objects, self.kind)}: {plural(self.total, unit[:-1])} in total, "
        note += f"{plural(self.median, 'byte')} median, {plural(self.largest, 'byte')} maximum."
        if self.stored:
            note += " Uncompressed sizes are not known before reading, so stored sizes are shown."
        if self.unknown:
            note += f" The size of {plural(self.unknown, 'more', 'more')} is unknown."
        return Chart(
            "sizes",
            f"Sizes of {plural(self.objects, self.kind)}",
            note,
            f"size ({unit})",
            many(self.kind),
            self.edges,
            self.counts.astype(np.float64),
            of_sizes=True,
        )


_WITH_SIZE = (State.LIVE, State.EXTERNAL, State.TOMBSTONED)


def object_sizes(objects: Objects, kind: str = "", progress: Progress = no_progress) -> Sizes:
    """Count the objects of one kind by size; for an unknown `kind`, the first kind is used."""
    parts = []
    total = len(objects)
    for first in range(0, total, _STEP):
        progress(first, total)
        columns = objects.known(first, min(first + _STEP, total))
        live = np.isin(columns.state, np.array(_WITH_SIZE, np.uint8))
        parts.append((columns.size[live], columns.stored_size[live], columns.kind[live]))
    progress(total, max(total, 1))
    if not parts:
        parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8))]
    size, stored, kinds = (np.concatenate([part[n] for part in parts]) for n in range(3))
    numbers = np.bincount(kinds, minlength=len(objects.kinds))
    found = tuple((name, int(count)) for name, count in zip(objects.kinds, numbers.tolist(), strict=False) if count)
    chosen = kind if kind in dict(found) else found[0][0] if found else kind
    if found:
        mine = kinds == objects.kinds.index(chosen)
        size, stored = size[mine], stored[mine]
    by_stored = bool(len(size)) and not (size >= 0).any() and bool((stored >= 0).any())
    values = stored if by_stored else size
    known = values[values >= 0]
    edges = size_edges(int(known.min()), int(known.max()), len(known)) if len(known) else np.array([0, 1], np.int64)
    counts = np.histogram(known, edges)[0].astype(np.int64)
    return Sizes(
        chosen,
        found,
        edges,
        counts,
        by_stored,
        len(values) - len(known),
        exact_sum(known),
        int(known.max()) if len(known) else 0,
        int(np.median(known)) if len(known) else 0,
    )


def size_edges(least: int, largest: int, count: int) -> I64:
    """Return bin edges in powers of two, finer for more objects; 0 has its own bin."""
    first = max(least, 1).bit_length() - 1 if least else 0
    octaves = max(largest, 1).bit_length()
    steps = 1 if count < 200 else 2 if count < 20_000 else 4
    if octaves - first <= _FEW_OCTAVES:
        steps *= 4
    edges = [0, 1] if not least else [1 << first]
    for octave in range(first, octaves):
        low = 1 << octave
        for step in range(1, steps + 1):
            edge = round(low * 2 ** (step / steps)) if step < steps else low << 1
            if edge > edges[-1]:
                edges.append(edge)
    while len(edges) > 2 and edges[-2] > largest:
        edges.pop()
    return np.array([min(edge, int(np.iinfo(np.int64).max)) for edge in edges], np.int64)


def load_chart(load: Load) -> Chart:
    """Return a chart of the load per slot or bucket; of more than `MOST_BINS`, each bin is a mean of several."""
    each = -(-load.places // MOST_BINS) if load.places else 1
    bounds = np.minimum(np.arange(0, load.places + each, each, dtype=np.int64), load.places)
    bounds = bounds[: -(-load.places // each) + 1] if load.places else np.zeros(1, np.int64)
    width = np.diff(bounds)
    sums = np.add.reduceat(load.counts, bounds[:-1]) if load.places else np.zeros(0)
    values = sums / np.maximum(width, 1)
    ideals = load.ideals()
    ideal = None
    if ideals is not None and load.places:
        ideal = np.add.reduceat(ideals, bounds[:-1]) / np.maximum(width, 1)
    y = many(load.thing) + (f", mean of {each:,}" if each > 1 else "")
    note = f"{load.doc} {load_sentence(load)}"
    return Chart("load", load.title, note, load.place, y, bounds, values, ideal=ideal, ideal_name=load.ideal_name)


def load_sentence(load: Load) -> str:
    if not load.places:
        return ""
    mean = load.total / load.places
    text = f"{plural(load.total, load.thing)} in {plural(load.places, load.place)}: {mean:,.2f} on average"
    most = int(load.counts.max())
    if most > 1:
        text += f", {int(load.counts.min()):,} minimum, {most:,} maximum"
    return text + "."


def spread_chart(load: Load) -> Chart | None:
    """Return the number of slots or buckets per load, beside random placement; None if no hash distributes the keys."""
    if not load.by_chance or load.places < 2:
        return None
    largest = int(load.counts.max())
    each = largest // MOST_BINS + 1
    bins = largest // each + 1
    values = np.bincount(load.counts // each, minlength=bins).astype(np.float64)
    expected = binomial(load.total, load.places, bins * each - 1)
    ideal = np.add.reduceat(expected, np.arange(0, bins * each, each))
    things, places = many(load.thing), many(load.place)
    return Chart(
        "spread",
        f"{places.capitalize()} by their number of {things}",
        f"{load.doc} {load_sentence(load)}",
        f"{things} in a {load.place}",
        places,
        np.arange(0, (bins + 1) * each, each, dtype=np.int64)[: bins + 1],
        values,
        ideal=ideal,
        ideal_name="random (binomial)",
    )


def stored_load(doc: str, counts: I64, plain: I64, starts: I64, stops: I64) -> Load:
    return Load(
        "Stored bytes of the chunks",
        "chunk",
        "stored byte",
        counts,
        f"{doc}The line shows the uncompressed size of each chunk.",
        plain.astype(np.float64),
        "uncompressed bytes",
        row_bounds=np.arange(len(counts) + 1, dtype=np.int64),
        starts=starts,
        stops=stops,
    )
