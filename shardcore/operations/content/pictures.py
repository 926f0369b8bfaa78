"""Pictures: reading headers, decoding pixels, and converting slices of arrays to pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.images import MOST_PIXELS, decode_picture, picture_header
from shardcore.errors import FormatError, LimitExceeded, UsageError
from shardcore.model.text import plural
from shardcore.operations.content.content_types import ArrayContent, Content, PictureContent

if TYPE_CHECKING:
    from shardcore.shards.shard import Shard

LABELS = "compressed_segmentation"
"""Encoding of arrays of labels (segment IDs)."""

_TITLES = {"webp": "WebP"}


def picture_content(data: bytes, size: int) -> Content:
    """Return a picture with its properties from the header; its pixels are not decoded."""
    header = picture_header(data)
    if header is None:
        raise FormatError("not a picture")
    title, note = f"{_TITLES.get(header.format, header.format.upper())} picture", ""
    if header.width * header.height > MOST_PIXELS:
        note = f"{header.width:,} × {header.height:,} pixels; at most {MOST_PIXELS:,} are decoded"
    return PictureContent(
        title, size, data, note, header.format, header.width, header.height, header.frames, header.mode
    )


def picture_pixels(shard: Shard, found: PictureContent) -> NDArray[np.uint8]:
    """Decode a picture into read-only uint8 of shape `(rows, columns, 4)`, RGBA.

    Decoding runs in a separate process if the shard was opened with `isolated=True`.

    Raises:
        FormatError: The picture is invalid.
        Unsupported: Its format or mode is not supported.
        LimitExceeded: It has too many pixels, or not all of its bytes were read.
    """
    if not found.complete:
        raise LimitExceeded(f"{plural(len(found.data), 'byte')} were read; decoding needs the whole picture")
    return decode_picture(found.data, decoder=shard.decoder)


def label_colours(labels: NDArray[Any]) -> NDArray[np.uint32]:
    """Return an ARGB pixel per label: a colour computed from its hash, never dark; label 0 is black."""
    numbers = np.abs(labels) if labels.dtype.kind == "c" else labels
    if numbers.dtype.kind == "f":
        # Floats are hashed by their bits.
        numbers = numbers.astype("=f8").view(np.uint64)
    numbers = numbers.astype(np.uint64)
    mixed = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    colour = ((mixed >> np.uint64(40)) & np.uint64(0xFFFFFF)).astype(np.uint32) | np.uint32(0x404040)
    return np.where(numbers == 0, np.uint32(0xFF000000), np.uint32(0xFF000000) | colour)


def slice_of(array: NDArray[Any], index: str | None, *, across: bool = False) -> NDArray[Any]:
    """Return a slice whose rows and columns are the first two axes; with `across`, the first axis is horizontal.

    `index` has the comma-separated indices of the other axes; default: zeros.

    Raises:
        UsageError: An index is out of range, or the array has fewer than two axes.
    """
    if array.ndim < 2:
        raise UsageError(f"a picture needs at least two axes; the array has {array.ndim}")
    rest = array.ndim - 2
    texts = index.split(",") if index else ["0"] * rest
    if len(texts) != rest or not all(text.strip().isdecimal() for text in texts):
        raise UsageError(f"--index {index}: {plural(rest, 'whole number')} required, one per axis after the second")
    places = tuple(int(text) for text in texts)
    for place, length in zip(places, array.shape[2:], strict=True):
        if place >= length:
            raise UsageError(f"--index {index}: {place} is out of range for an axis of length {length}")
    index_of_plane: Any = (slice(None), slice(None), *places)
    plane: NDArray[Any] = array[index_of_plane]
    return plane.T if across else plane


def pixels_of(shard: Shard, found: ArrayContent | PictureContent, index: str | None) -> NDArray[np.uint8]:
    """Return a picture, or a slice of an array, as pixels; see `array_pixels`."""
    if isinstance(found, PictureContent):
        if index is not None:
            raise UsageError(f"--index applies to arrays; this is {found.title}")
        return picture_pixels(shard, found)
    return array_pixels(found, index)


def array_pixels(found: ArrayContent, index: str | None = None) -> NDArray[np.uint8]:
    """Return a slice of an array as pixels: labels in colour, other numbers in grey."""
    plane = slice_of(found.array, index, across=bool(found.layout.axes))
    if plane.dtype.kind not in "iufb":
        raise UsageError(f"--png needs numbers; these are {plane.dtype}")
    if found.encoding != LABELS:
        return grey(plane)
    # The colours of the window, without alpha.
    argb = label_colours(plane)
    return np.stack([argb >> shift & 0xFF for shift in (16, 8, 0)], axis=-1).astype(np.uint8)


def grey(plane: NDArray[Any]) -> NDArray[np.uint8]:
    """Scale numbers to grey levels between minimum and maximum; NaN becomes black."""
    values = plane.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (values - low) / ((high - low) or 1) * 255
    return np.nan_to_num(scaled).clip(0, 255).astype(np.uint8)
