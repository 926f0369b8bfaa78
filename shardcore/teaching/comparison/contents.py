"""Contents to compare: built-in ones of ten kinds, or files; more or fewer of them, larger or smaller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.model.number_words import plural
from shardcore.progress import check_stopped
from shardcore.writing.inputs import LeftOut, input_files

MOST_BYTES = 8 << 20
"""Bytes of contents that are compared at once: all of it is held in memory, once for each format."""

MOST_OBJECTS = 10_000
"""Objects that are compared at once."""

_STAMP = 8
"""Bytes by which copies of an object differ."""


class ComparedObject(NamedTuple):
    name: str
    data: bytes


class Thing(NamedTuple):
    name: str
    size: int
    cut: Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class ComparedContents:
    title: str
    things: tuple[Thing, ...]
    notes: tuple[str, ...] = ()

    def most(self, size: int | None = None) -> int:
        if size is not None:
            return max(min(MOST_OBJECTS, MOST_BYTES // max(size, 1)), 1)
        rounds = min(MOST_BYTES // max(sum(thing.size for thing in self.things), 1), MOST_OBJECTS)
        return min(max(rounds, 1) * len(self.things), MOST_OBJECTS)

    def objects(self, count: int | None = None, size: int | None = None) -> list[ComparedObject]:
        if (count is not None and count < 1) or (size is not None and size < 1):
            raise UsageError("give at least one object, of at least one byte")
        found: dict[str, ComparedObject] = {}
        for number in range(min(len(self.things) if count is None else count, self.most(size))):
            check_stopped()
            turn, at = divmod(number, len(self.things))
            thing = self.things[at]
            data = thing.cut(turn, thing.size if size is None else size)
            name, copy = numbered(thing.name, turn), turn
            while name in found:
                copy += 1
                name = numbered(thing.name, copy)
            found[name] = ComparedObject(name, _stamped(data, turn) if turn else data)
        return list(found.values())


def numbered(name: str, turn: int) -> str:
    if not turn:
        return name
    folder, slash, last = name.rpartition("/")
    stem, dot, ending = last.rpartition(".")
    return f"{folder}{slash}{stem or last}-{turn + 1}{dot if stem else ''}{ending if stem else ''}"


def _stamped(data: bytes, turn: int) -> bytes:
    stamp = (b"%08d" % turn)[-min(_STAMP, len(data)) :] if data else b""
    return stamp + data[len(stamp) :]


def files_of(inputs: Sequence[str | Path]) -> ComparedContents:
    left_out, total, large = LeftOut(), 0, 0
    taken: list[Thing] = []
    notes: list[str] = []
    for path, name in input_files(inputs, left_out):
        check_stopped()
        try:
            with path.open("rb") as stream:
                data = stream.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot read {path}: {reason_of(error)}") from error
        if len(data) > MOST_BYTES:
            large += 1
            continue
        if total + len(data) > MOST_BYTES or len(taken) == MOST_OBJECTS:
            files = plural(len(taken), "file is", "files are")
            most = f"at most {MOST_OBJECTS:,} files, of {MOST_BYTES >> 20} MiB together"
            notes.append(f"the first {files} compared: {most}")
            break
        taken.append(Thing(name, len(data), partial(_repeated, data)))
        total += len(data)
    if large:
        notes.append(f"left out: {plural(large, 'file')} of more than {MOST_BYTES >> 20} MiB")
    if not taken:
        raise UsageError(f"there is no file to compare{f'; {notes[0]}' if notes else ''}")
    names = ", ".join(str(one) for one in inputs[:2]) + (" …" if len(inputs) > 2 else "")
    return ComparedContents(names, tuple(taken), (*notes, *left_out.notes()))


def _repeated(data: bytes, turn: int, size: int) -> bytes:
    data = data or b"\0"
    return (data * -(-size // len(data)))[:size]


# --- built-in contents: the same at any time, on any machine ---

_LEAST = 1 << 15
"""At least so many bytes of a kind are created at once, and kept."""

_TEXT = """
a shard packs many small objects into one file so that they are found again with few reads each key leads through an
index to where its bytes begin and how many there are some formats compress them others keep them as they came what is
cheap to write is not always cheap to change and what is cheap to find needs room for tables
"""
_WORDS = _TEXT.split()
_NAMES = ("Ada", "Blaise", "Charles", "Donald", "Edsger", "Frances", "Grace", "Hedy")
_TOWNS = ("Paris", "Turin", "Zürich", "Lund", "Porto", "Kyoto")
_CALLS = ("GET /index", "GET /objects", "PUT /objects", "HEAD /objects", "GET /static/logo.svg")


def _dice(seed: int) -> np.random.RandomState:
    # The numbers of this generator are promised to stay the same in every version of NumPy.
    return np.random.RandomState(seed)


def _lines(seed: int, each: int, line: Callable[[int, int], str], size: int) -> bytes:
    dice = _dice(seed).randint(0, 1 << 30, size // each + 1).tolist()
    return "".join(line(number, chance) for number, chance in enumerate(dice)).encode()


def _text(size: int) -> bytes:
    parts = [f"{word} ".encode() for word in _WORDS] + [b"\n"]
    return b"".join([parts[number] for number in _dice(1).randint(0, len(parts), size // 2).tolist()])


def _table(size: int) -> bytes:
    dice = _dice(3).randint(0, 100_000, (size // 12 + 1, 2)).tolist()
    return "".join(["day,price,sold\n", *(f"{n},{a / 100:.2f},{b % 997}\n" for n, (a, b) in enumerate(dice))]).encode()


def _waves(size: int) -> bytes:
    at = np.arange(size // 8 + 1) / 50
    return np.round(np.sin(at) + np.sin(at * 3.1), 2).astype("<f8").tobytes()


def _picture(size: int) -> bytes:
    at = np.arange(size)
    return ((at % 80) * 2 + at // 80 % 64 + _dice(8).randint(0, 4, size)).astype(np.uint8).tobytes()


def _labels(size: int) -> bytes:
    runs = size // 4 // 40 + 2
    numbers = np.repeat(_dice(10).randint(1, 60_000, runs), _dice(11).randint(20, 80, runs))
    return np.resize(numbers, size // 4 + 1).astype("<u4").tobytes()


def _record(n: int, d: int) -> str:
    return f'{{"id": {n}, "name": "{_NAMES[d % 8]}", "town": "{_TOWNS[d // 8 % 6]}", "age": {18 + d // 48 % 70}}}\n'


def _log(n: int, d: int) -> str:
    return f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z {_CALLS[d % 5]} 200 {d // 5 % 90_000}\n"


def _function(n: int, d: int) -> str:
    return f"def {_WORDS[d % 40]}_{n}({_WORDS[d // 40 % 40]}):\n    return {_WORDS[d // 40 % 40]} + {d % 97}\n\n"


_KINDS: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "letter.txt": (1_800, _text),
    "people.json": (2_600, partial(_lines, 2, 40, _record)),
    "prices.csv": (3_100, _table),
    "server.log": (4_200, partial(_lines, 4, 40, _log)),
    "program.py": (2_300, partial(_lines, 5, 25, _function)),
    "counts.i64": (4_096, lambda size: np.cumsum(_dice(6).randint(0, 20, size // 8 + 1)).astype("<i8").tobytes()),
    "waves.f64": (4_096, _waves),
    "slope.gray": (6_400, _picture),
    "photo.jpg": (5_700, lambda size: _dice(9).bytes(size)),
    "labels.u32": (8_192, _labels),
}


@lru_cache(maxsize=len(_KINDS))
def _kept(name: str, size: int) -> bytes:
    data = _KINDS[name][1](size)[:size]
    return data if len(data) == size else (data * (size // len(data) + 1))[:size]


def _built_in(name: str, turn: int, size: int) -> bytes:
    start = turn * size
    # Twice as many are created when more are needed, and they begin with the same.
    return _kept(name, max(1 << max(start + size - 1, 0).bit_length(), _LEAST))[start : start + size]


BUILT_IN = ComparedContents(
    "Built-in contents of ten kinds",
    tuple(Thing(name, size, partial(_built_in, name)) for name, (size, _) in _KINDS.items()),
)
"""Objects of ten kinds: texts, tables, arrays, a picture, and bytes that no codec makes smaller."""
