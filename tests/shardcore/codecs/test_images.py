"""Pictures: headers state what is decoded, and hostile ones are refused before anything is expanded."""

from __future__ import annotations

import io
import random
import struct
import zlib
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from PIL import Image

from shardcore.codecs import images
from shardcore.codecs.images import decode_picture, picture_header
from shardcore.errors import FormatError, LimitExceeded, ShardError
from shardcore.model.span import Span

PIXELS = np.random.default_rng(7).integers(0, 256, (30, 40, 4), np.uint8)
PLACE = Span("", 100, 200)


def saved(format: str, pixels: np.ndarray[Any, Any], **options: Any) -> bytes:
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, format, **options)
    return target.getvalue()


def png(width: int, height: int, *, data: bytes = b"") -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"])
def test_headers_state_what_is_decoded(format: str) -> None:
    data = saved(format, PIXELS[:, :, :3])
    header = picture_header(data)
    assert (header.format, header.width, header.height, header.frames) == (format.lower(), 40, 30, 1)
    assert header.mode == ("palette" if format == "GIF" else "RGB")
    pixels = decode_picture(data)
    assert pixels.shape == (30, 40, 4)
    if format in ("PNG", "TIFF", "BMP"):
        np.testing.assert_array_equal(pixels[:, :, :3], PIXELS[:, :, :3])
        assert (pixels[:, :, 3] == 255).all()


@pytest.mark.parametrize("format", ["GIF", "WEBP", "TIFF", "PNG"])
def test_frames_are_counted(format: str) -> None:
    frames = [Image.fromarray(np.roll(PIXELS[:, :, :3], n, axis=1)) for n in range(3)]
    target = io.BytesIO()
    frames[0].save(target, format, save_all=True, append_images=frames[1:])
    assert picture_header(target.getvalue()).frames == 3


def test_samples_are_what_is_stored() -> None:
    values = np.array([[0, 255, 256], [32768, 65280, 65535]], np.uint16)
    data = saved("PNG", values)
    np.testing.assert_array_equal(images.decode_samples(data)[:, :, 0], values)
    assert decode_picture(data)[:, :, 0].tolist() == [[0, 0, 0], [127, 254, 255]]
    np.testing.assert_array_equal(decode_picture(images.encode_png(PIXELS)), PIXELS)


@pytest.mark.parametrize(
    "data",
    [
        png(2**31 - 1, 2**31 - 1),
        png(2**31 - 1, 1),
        b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0),
        b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0, 0, 0) + b"," + struct.pack("<HHHHB", 65535, 65535, 65535, 65535, 0),
        b"\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03" + bytes(20),
        b"RIFF" + bytes(4) + b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + b"\xff" * 6,
        b"II*\0" + struct.pack("<IHHHIIHHII", 8, 2, 256, 4, 1, 10**6, 257, 4, 1, 10**6),
        b"BM" + bytes(12) + struct.pack("<IIi", 40, 10**6, -(10**6)) + bytes(20),
    ],
)
def test_huge_pictures_are_refused(data: bytes) -> None:
    header = picture_header(data)
    assert header.width * header.height > images.MOST_PIXELS
    with pytest.raises(LimitExceeded, match="pixels"):
        decode_picture(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        png(100, 100, data=bytes(50)),
        saved("JPEG", PIXELS[:, :, :3])[:400],
        saved("JPEG", PIXELS[:, :, :3])[:-300],
        saved("WEBP", PIXELS[:, :, :3])[:-300],
        saved("GIF", PIXELS[:, :, :3])[:-300],
    ],
)
def test_truncated_pictures_are_errors(data: bytes) -> None:
    with pytest.raises(FormatError) as caught:
        decode_picture(data, place=PLACE)
    assert caught.value.span == PLACE


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_damaged_pictures_raise_only_errors_of_shards(format: str) -> None:
    chance = random.Random(format)
    data = saved(format, PIXELS[:, :, :3])
    for _ in range(100):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        changed = changed[: chance.choice([len(changed), chance.randrange(len(changed))])]
        with suppress(ShardError):
            assert decode_picture(bytes(changed), most=1 << 20).ndim == 3


def test_headers_end_anywhere() -> None:
    for format in ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"):
        data = saved(format, PIXELS[:, :, :3])
        for stop in range(80):
            header = picture_header(data[:stop])
            assert (header is None) == (images.picture_format(data[:stop]) == "")
