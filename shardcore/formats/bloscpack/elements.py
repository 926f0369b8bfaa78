"""Keys of elements: `[24,40]` in an array as in NumPy, or `[7]`, counted by the typesize, if there is no array."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from shardcore.errors import KeyAbsent, UsageError
from shardcore.model.array_layout import ArrayLayout
from shardcore.model.number_text import plural
from shardcore.model.span import Span
from shardcore.shards.trace import LookupRecorder

BYTE_WHY = "Chunks contain bytes, not elements, so the lookup continues with the first byte of the element."
_INDEX = re.compile(r"\[ ?-?[0-9]{1,19}(?: ?, ?-?[0-9]{1,19})* ?\]", re.ASCII)


def parse_index(text: str) -> tuple[int, ...] | None:
    if not _INDEX.fullmatch(text):
        return None
    return tuple(int(number) for number in text[1:-1].split(","))


def index_text(index: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, index))}]"


@dataclass(frozen=True, slots=True)
class Element:
    """Element with its number in the uncompressed content.

    Attributes:
        number: Number of the element in storage order.
        itemsize: Bytes of an element.
        how: Sentence that shows the computation of the number, without a full stop.
    """

    number: int
    itemsize: int
    how: str

    @property
    def byte(self) -> int:
        return self.number * self.itemsize

    @property
    def sentence(self) -> str:
        sizes = plural(self.itemsize, "byte")
        return (
            f"{self.how}; {sizes} each: its first uncompressed byte is {self.number} × {self.itemsize} = {self.byte}."
        )

    def report(self, recorder: LookupRecorder, *places: Span) -> None:
        recorder.step(
            "Which byte",
            self.sentence,
            *places,
            why=BYTE_WHY,
            element=self.number,
            itemsize=self.itemsize,
            byte=self.byte,
        )


def report_none(error: KeyAbsent, recorder: LookupRecorder, *places: Span) -> None:
    recorder.step("Which byte", f"Not found: {error.message}.", *places, why=BYTE_WHY)


def element_at(index: tuple[int, ...], array: ArrayLayout) -> Element:
    """Return an element of an array; negative numbers count from the end, as in NumPy."""
    shape = array.shape
    key = index_text(index)
    if len(index) != len(shape):
        axes = plural(len(shape), "axis", "axes")
        raise UsageError(f"the array has {axes}, {_times(shape)}, but {key} has {len(index)}: give one number per axis")
    places = [at + length if at < 0 else at for at, length in zip(index, shape, strict=True)]
    if any(not 0 <= at < length for at, length in zip(places, shape, strict=True)):
        raise KeyAbsent(key, f"there is no element {key}; the array is {_times(shape)}")
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    if array.order != "C":
        strides = [math.prod(shape[:axis]) for axis in range(len(shape))]
    number = sum(at * stride for at, stride in zip(places, strides, strict=True))
    # The factor of the fastest axis is 1, so it is not shown.
    terms = " + ".join(f"{at} × {step}" if step != 1 else f"{at}" for at, step in zip(places, strides, strict=True))
    how = f"{terms} = {number}" if len(shape) > 1 else f"{number}"
    where = f"Element {key} of {_times(shape)} is number {how}, in {array.order} order"
    return Element(number, array.dtype.itemsize, where)


def element_of(index: tuple[int, ...], typesize: int, size: int) -> Element:
    """Return an element of content without array metadata; pass `typesize` 0 for version 1, `size` -1 if unknown."""
    key = index_text(index)
    if not typesize:
        raise UsageError(f"{key}: version 1 does not store the size of an element; look up a byte instead, such as @8")
    if len(index) != 1 or index[0] < 0:
        raise UsageError(f"{key}: the file describes no array, so use a single number from 0, such as [7]")
    number = index[0]
    if size >= 0 and (number + 1) * typesize > size:
        count = plural(size // typesize, "element")
        raise KeyAbsent(key, f"there is no element {key}; the content has {count} of {plural(typesize, 'byte')}")
    return Element(number, typesize, f"Element {number} of the content, by the header's typesize")


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a single number"
