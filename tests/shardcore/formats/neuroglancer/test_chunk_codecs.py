"""Encoded chunks of volumes: voxels, the bytes that store each of them, and invalid chunks."""

from __future__ import annotations

import io
import itertools
import multiprocessing
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import shardcore
from shardcore.errors import FormatError, LimitExceeded, ShardError, Unsupported
from shardcore.formats.neuroglancer.chunks import chunk_parts, decode_chunk
from shardcore.formats.neuroglancer.segmentation import channel_blocks
from shardcore.model.content_layout import ArrayLayout, ContentPart, part_at, part_stored_at
from shardcore.model.span import Span
from tests.volumes import SPEC, sample_array, scale_of, segmentation, write_info, write_shards

SHAPE = (20, 17, 9)
BLOCK = (8, 8, 4)
X, Y, Z = np.indices(SHAPE)
# Blocks of one label, of two, of many: all numbers of bits up to 8 occur.
LABELS = np.where(X < 8, 7, np.where(Y < 8, X // 14, X + 100 * Y + 10_000 * Z)).astype("<u8")


@dataclass(frozen=True, slots=True)
class VoxelSpans:
    """Byte ranges in a chunk that store a voxel: header and values of its block, the voxel's own bits, its label.

    `values` is empty if the block has only one label.
    """

    header: tuple[int, int]
    values: tuple[int, int]
    value: tuple[int, int]
    label: tuple[int, int]


def voxel_spans(data: bytes, layout: ArrayLayout, index: Sequence[int]) -> VoxelSpans:
    """Return the byte ranges that store a voxel; `index` is x, y, z and channel in the chunk."""
    blocks = channel_blocks(data, layout)[index[3]]
    axes = list(zip(index[:3], layout.block, strict=True))
    block = blocks.block_at([at // edge for at, edge in axes])
    x, y, z = (at % edge for at, edge in axes)
    nth = x + layout.block[0] * (y + layout.block[1] * z)
    bits, values, size = int(blocks.bits[block]), int(blocks.values[block]), int(blocks.sizes[block])
    value, stored = (values, values), 0
    if bits:
        value = values + nth * bits // 8, values + -(-(nth + 1) * bits // 8)
        stored = int.from_bytes(data[slice(*value)], "little") >> nth * bits % 8 & (1 << bits) - 1
    else:
        values = int(blocks.tables[block])
        value = values, values
    header, width = blocks.start + 8 * block, layout.dtype.itemsize
    label = int(blocks.tables[block]) + stored * width
    return VoxelSpans((header, header + 8), (values, values + size), value, (label, label + width))


def labels_layout(dtype: str = "<u8", channels: int = 1) -> ArrayLayout:
    kind = np.dtype(dtype)
    return ArrayLayout(kind, (*SHAPE, channels), "F", encoding="compressed_segmentation", block=BLOCK)


def encoded(labels: NDArray[Any]) -> bytes:
    return segmentation(labels, BLOCK)


def joined(*labels: NDArray[Any]) -> bytes:
    bodies = [encoded(one)[4:] for one in labels]
    starts = np.cumsum([len(bodies), *(len(body) // 4 for body in bodies)])[:-1]
    return starts.astype("<u4").tobytes() + b"".join(bodies)


def picture(format: str, pixels: NDArray[Any]) -> bytes:
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, format)
    return target.getvalue()


@pytest.mark.parametrize("dtype", ["<u4", "<u8"])
def test_segmentations(dtype: str) -> None:
    labels = LABELS.astype(dtype)
    for channels in ([labels], [labels, labels + 1]):
        raw, data = decode_chunk(labels_layout(dtype, len(channels)), joined(*channels))
        assert raw.encoding == "raw"
        np.testing.assert_array_equal(raw.of(data), np.stack(channels, axis=-1))


@pytest.mark.parametrize("format", ["PNG", "JPEG"])
@pytest.mark.parametrize(("columns", "channels"), [(6, 1), (6, 3), (30, 1), (1, 1)])
def test_pictures_have_any_width(format: str, columns: int, channels: int) -> None:
    shape = (6, 5, 4)
    pixels = (np.arange(np.prod(shape) * channels) // 2 % 256).astype(np.uint8).reshape(-1, columns, channels)
    data = picture(format, pixels[:, :, 0] if channels == 1 else pixels)
    layout = ArrayLayout(np.dtype("|u1"), (*shape, channels), "F", encoding=format.lower())
    raw, decoded = decode_chunk(layout, data)
    voxels = raw.of(decoded)
    expected = pixels.reshape(4, 5, 6, channels).transpose(2, 1, 0, 3)
    if format == "PNG":
        np.testing.assert_array_equal(voxels, expected)
    else:
        assert np.abs(voxels.astype(int) - expected).mean() < 12
    with pytest.raises(FormatError, match="voxel"):
        decode_chunk(ArrayLayout(np.dtype("|u1"), (6, 5, 3, channels), "F", encoding=format.lower()), data)


def test_wrong_pictures_are_refused() -> None:
    layout = ArrayLayout(np.dtype("|u1"), (4, 4, 1, 1), "F", encoding="png")
    with pytest.raises(FormatError, match="channel"):
        decode_chunk(layout, picture("PNG", np.zeros((4, 4, 3), np.uint8)))
    with pytest.raises(FormatError, match="uint16"):
        decode_chunk(layout, picture("PNG", np.zeros((4, 4), np.uint16)))
    with pytest.raises(FormatError, match="not a PNG"):
        decode_chunk(layout, picture("JPEG", np.zeros((4, 4), np.uint8)))
    with pytest.raises(FormatError, match="4 × 40 pixels"):
        decode_chunk(layout, picture("PNG", np.zeros((40, 4), np.uint8)))
    with pytest.raises(Unsupported, match="jxl"):
        decode_chunk(ArrayLayout(np.dtype("|u1"), (4, 4, 1, 1), "F", encoding="jxl"), b"")
    huge = ArrayLayout(np.dtype("<u8"), (1 << 20, 1 << 20, 1 << 20, 1), "F", encoding="png")
    with pytest.raises(LimitExceeded):
        decode_chunk(huge, b"")


def test_a_label_has_its_bytes() -> None:
    """Changing the table entry of a voxel changes voxels with its label alone."""
    layout, data = labels_layout(), encoded(LABELS)
    for index in [(0, 0, 0, 0), (19, 16, 8, 0), (9, 3, 5, 0), (15, 7, 3, 0), (13, 12, 6, 0)]:
        spans = voxel_spans(data, layout, index)
        changed = bytearray(data)
        changed[slice(*spans.label)] = (1 << 40).to_bytes(8, "little")
        raw, decoded = decode_chunk(layout, bytes(changed))
        places = raw.of(decoded)[..., 0] == 1 << 40
        assert places[index[:3]]
        assert (LABELS[places] == LABELS[index[:3]]).all()


def test_a_voxel_has_its_bits() -> None:
    """Changing the bits of a voxel changes that voxel alone."""
    layout, data = labels_layout(), encoded(LABELS)
    raw, before = decode_chunk(layout, data)
    for index in [(19, 16, 8, 0), (9, 12, 5, 0), (15, 8, 3, 0)]:
        spans = voxel_spans(data, layout, index)
        assert spans.values[0] <= spans.value[0] < spans.value[1] <= spans.values[1]
        changed = bytearray(data)
        changed[spans.value[0]] ^= 1
        _, after = decode_chunk(layout, bytes(changed))
        places = np.argwhere(raw.of(before) != raw.of(after)).tolist()
        assert len(places) == 1
        assert abs(places[0][0] - index[0]) < 8


def test_parts_are_the_blocks() -> None:
    layout, data = labels_layout("<u8", 2), joined(LABELS, LABELS + 1)
    stored = Span("a", 1000, 1000 + len(data))
    parts = chunk_parts(layout, ContentPart(0, len(data), stored), lambda: data)
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert (parts[0].start, parts[-1].stop) == (0, layout.nbytes)
    for index in itertools.product((0, 9, 19), (0, 7, 16), (0, 3, 8), (0, 1)):
        start, stop = layout.bytes_of(index)
        part = part_at(parts, start)
        spans = voxel_spans(data, layout, index)
        inner = part.span_of(start, stop)
        expected = spans.values if spans.values[1] > spans.values[0] else (spans.label[0], spans.label[1])
        assert (inner.start - 1000, inner.stop - 1000) == expected
        again = part_stored_at(parts, inner)
        assert again.stored == part.stored
    assert part_stored_at(parts, Span("a", 1000, 1001)) is None
    assert part_stored_at(parts, Span("b", inner.start, inner.stop)) is None
    assert part_at(parts, layout.nbytes) is None


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 0xFFFFFFFF, "byte 0x0 of the chunk: channel 0 begins"),
        (0, 0, "channel 0 begins"),
        (4, 3 << 24, "byte 0x4 of the chunk: block 0 has 3 bits"),
        (4, 1 << 24 | 0xFFFFFF, "block 0 has labels at"),
        (4, 0xFFFFFF, "block 0 has labels at"),
        (8 * 1 + 8, 0xFFFFFFFF, "byte 0xc of the chunk: block 1 has values"),
        (4, 32 << 24, "block 0 has"),
    ],
)
def test_wild_offsets_are_named(at: int, value: int, message: str) -> None:
    """An offset or number of bits that points outside is an error with its location."""
    data = bytearray(encoded(LABELS))
    data[at : at + 4] = value.to_bytes(4, "little")
    with pytest.raises(FormatError, match=message) as caught:
        decode_chunk(labels_layout(), bytes(data), place=Span("", 500, 500 + len(data)))
    assert caught.value.span.start == 500 + ((at - 4) // 8 * 8 + 4 if at else 0)


def test_damaged_segmentations_raise_only_errors_of_shards() -> None:
    chance, data, layout = random.Random(3), encoded(LABELS), labels_layout()
    for _ in range(500):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(min(len(data), chance.choice([400, len(data)])))
            changed[at] = chance.choice([0, 1, 32, 255, chance.randrange(256)])
        changed = changed[: chance.choice([len(changed), chance.randrange(len(changed))])]
        try:
            _, decoded = decode_chunk(layout, bytes(changed))
            assert len(decoded) == layout.nbytes
        except ShardError:
            continue


def test_costs_of_wide_blocks_are_bounded() -> None:
    """Only voxels inside the chunk are decoded; their number counts, with those that fill the last blocks."""
    shape, encoding = (1, 1, 1 << 17, 1), "compressed_segmentation"
    layout = ArrayLayout(np.dtype("<u8"), shape, "F", encoding=encoding, block=(256, 256, 1))
    header = np.zeros((1 << 17, 2), "<u4")
    header[:, 0] = 1 << 24 | 0x407FE
    data = (1).to_bytes(4, "little") + header.tobytes() + bytes(8192)
    assert decode_chunk(layout, data)[1] == bytes(layout.nbytes)
    padded = replace(layout, shape=(129, 513, 1 << 8, 1), block=(128, 512, 255))
    with pytest.raises(LimitExceeded, match="of the chunk have"):
        decode_chunk(padded, data)


@pytest.mark.parametrize("dtype", ["<u4", "<u8"])
@pytest.mark.parametrize("block", [(8, 8, 8), (64, 2, 3), (3, 5, 64), (2, 2, 2)])
def test_labels_of_all_widths(dtype: str, block: tuple[int, ...]) -> None:
    """Indices of 0 to 16 bits, also in blocks larger than the chunk, whose tables begin at odd and even words."""
    labels = (np.arange(20 * 17 * 9) % np.repeat([1, 2, 3, 9, 70, 3060], 510)).reshape(SHAPE, order="F").astype(dtype)
    layout = ArrayLayout(np.dtype(dtype), (*SHAPE, 1), "F", encoding="compressed_segmentation", block=block)
    raw, data = decode_chunk(layout, segmentation(labels * 7, block))
    np.testing.assert_array_equal(raw.of(data)[..., 0], labels * 7)


def test_shards_decode_their_chunks(tmp_path: Path) -> None:
    array = sample_array(SHAPE, "<u8")
    block = {"encoding": "compressed_segmentation", "compressed_segmentation_block_size": [2, 2, 2]}
    write_info(tmp_path, "uint64", scale_of(array, SHAPE, "s", SPEC) | block, type="segmentation")
    write_shards(tmp_path / "s", array, SHAPE, SPEC, segmentation)
    others = set(multiprocessing.active_children())
    for where in (tmp_path / "s", tmp_path):
        with shardcore.open(where) as shard:
            ref = shard.find(0)
            np.testing.assert_array_equal(shard.array(ref)[..., 0], array)
            found = shardcore.content(shard, ref)
            np.testing.assert_array_equal(found.array[..., 0], array)
            span = shardcore.content_span(shard, ref, *found.layout.bytes_of((9, 3, 5, 0)))
            values = voxel_spans(shard.read(ref), shard.arrays.array_layout(ref), (9, 3, 5, 0)).values
            stored = ref.spans[0]
            assert (span.source, span.start - stored.start, span.stop - stored.start) == (stored.source, *values)
        with shardcore.open(where, isolated=True) as shard:
            np.testing.assert_array_equal(shard.array(0)[..., 0], array)
        assert set(multiprocessing.active_children()) <= others
