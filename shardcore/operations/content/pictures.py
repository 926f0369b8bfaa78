"""Pictures: what their headers state, and their pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.pictures import MOST_PIXELS, decode_picture, picture_header
from shardcore.errors import FormatError, LimitExceeded
from shardcore.model.number_words import plural
from shardcore.operations.content.results import Content, PictureContent

if TYPE_CHECKING:
    from shardcore.shards.shard import Shard

_TITLES = {"webp": "WebP"}


def picture_content(data: bytes, size: int) -> Content:
    """Return a picture, without its pixels.

    Raises:
        FormatError: The bytes are no picture.
    """
    header = picture_header(data)
    if header is None:
        raise FormatError("no picture")
    title, note = f"{_TITLES.get(header.format, header.format.upper())} picture", ""
    if header.width * header.height > MOST_PIXELS:
        note = f"{header.width:,} × {header.height:,} pixels; at most {MOST_PIXELS:,} are decoded"
    return PictureContent(
        title, size, data, note, header.format, header.width, header.height, header.frames, header.mode
    )


def picture_pixels(shard: Shard, found: PictureContent) -> NDArray[np.uint8]:
    """Return the pixels of a picture: uint8 of shape `(rows, columns, 4)`, red to alpha; read-only.

    They are decoded in a process of their own where the shard was opened with `isolated=True`.

    Raises:
        FormatError: The picture is invalid.
        Unsupported: Its format or mode is not decoded here.
        LimitExceeded: It has too many pixels, or not all of its bytes were read.
    """
    if not found.complete:
        raise LimitExceeded(f"{plural(len(found.data), 'byte')} of the picture were read; its pixels need all")
    return decode_picture(found.data, decoder=shard.decoder)


def label_colours(labels: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the pixels of labels as ARGB values: a hash of each label, which is not dark; 0 is black."""
    numbers = np.abs(labels) if labels.dtype.kind == "c" else labels
    if numbers.dtype.kind == "f":
        # Of fractions the bits are hashed.
        numbers = numbers.astype("=f8").view(np.uint64)
    numbers = numbers.astype(np.uint64)
    mixed = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    colour = ((mixed >> np.uint64(40)) & np.uint64(0xFFFFFF)).astype(np.uint32) | np.uint32(0x404040)
    return np.where(numbers == 0, np.uint32(0xFF000000), np.uint32(0xFF000000) | colour)
