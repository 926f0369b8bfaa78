"""Decoding images: headers are parsed here with bounds checks, pixels are decoded by Pillow."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decoder_process import TaskRunner, run_task
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, LimitExceeded, Unsupported
from shardcore.model.optional_packages import optional
from shardcore.model.span import Span
from shardcore.model.text import plural

MOST_PIXELS = 1 << 26
"""Maximum number of pixels of a decoded image."""

MOST_SCANS = 16
"""Maximum number of scans of a JPEG with `MOST_PIXELS` pixels; progressive files have about ten scans."""

MOST_FRAMES = 100_000
"""Maximum number of frames (of an animation) or pages that are counted in a file."""

_STEPS = 1 << 18
"""Maximum number of chunks, segments or blocks parsed in a file."""

RGBA, SAMPLES = "rgba", "samples"
"""Forms of the result: 8-bit RGBA, or the original samples."""

_JPEG_SCAN = b"\xff\xda"
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_MODES = {0: "grey", 2: "RGB", 3: "palette", 4: "grey and alpha", 6: "RGB and alpha"}
_COMPONENTS = {1: "grey", 2: "grey and alpha", 3: "RGB", 4: "CMYK"}
_JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_DTYPES = {"L": "|u1", "RGB": "|u1", "RGBA": "|u1", "LA": "|u1", "I;16": "<u2", "I;16L": "<u2", "I": "<i4", "F": "<f4"}
_DEEP = {"LA;16B": ("RGBA",), "RGB;16B": ("RGB;16B", "RGB;16L"), "RGBA;16B": ("RGBA;16B", "RGBA;16L")}
"""Raw modes with 16-bit samples, of which Pillow keeps 8 bits, and the raw modes that return all bytes of them."""
_warnings = threading.Lock()


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """Header of an image; from incomplete data, width and height may be 0 and frames too few.

    `format` is `png`, `jpeg`, `gif`, `webp`, `tiff` or `bmp`; `mode` is text such as `RGB and alpha`.
    """

    format: str
    width: int = 0
    height: int = 0
    frames: int = 1
    mode: str = ""


def picture_format(data: bytes) -> str:
    if data.startswith(_PNG):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "webp"
    if data.startswith((b"II*\0", b"MM\0*")):
        return "tiff"
    if data.startswith(b"BM") and len(data) >= 18 and _number(data, 14, 4) in (12, 40, 52, 56, 64, 108, 124):
        return "bmp"
    return ""


def picture_header(data: bytes) -> PictureHeader | None:
    format = picture_format(data)
    return _READERS[format](data) if format else None


def decode_picture(
    data: bytes, *, decoder: TaskRunner = run_task, most: int = MOST_PIXELS, place: Span | None = None
) -> NDArray[np.uint8]:
    """Return the pixels of the first frame: read-only uint8, shape `(rows, columns, 4)`, RGBA.

    16-bit values are scaled by 1/256, other deep values from their minimum to their maximum. `LimitExceeded` is raised
    for more than `most` pixels.
    """
    header, pixels = _decoded(data, RGBA, 4 * most, decoder, most, place)
    return np.frombuffer(pixels, np.uint8).reshape(header["height"], header["width"], 4)


def decode_samples(data: bytes, *, decoder: TaskRunner = run_task, place: Span | None = None) -> NDArray[Any]:
    """Return the original samples, shape `(rows, columns, channels)`; see `decode_picture`."""
    header, pixels = _decoded(data, SAMPLES, 8 * MOST_PIXELS, decoder, MOST_PIXELS, place)
    return np.frombuffer(pixels, header["dtype"]).reshape(header["height"], header["width"], -1)


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode pixels of shape `(rows, columns)` (grey), `(rows, columns, 3)` or `(rows, columns, 4)` as PNG."""
    image = optional("PIL.Image")
    target = io.BytesIO()
    image.fromarray(np.ascontiguousarray(pixels)).save(target, "PNG")
    return target.getvalue()


def _decoded(
    data: bytes, form: str, limit: int, decoder: TaskRunner, most: int, place: Span | None
) -> tuple[dict[str, Any], bytes]:
    header = picture_header(data)
    if header is None or not (header.width and header.height):
        raise FormatError("not an image, or its header is invalid", span=place)
    if header.width * header.height > most:
        size = f"{header.width:,} × {header.height:,} pixels"
        raise LimitExceeded(f"the image has {size}; the limit is {most:,}", span=place)
    scans = data.count(_JPEG_SCAN) if header.format == "jpeg" else 0
    if header.width * header.height * scans > MOST_SCANS * most:
        size = f"{scans:,} scans of {header.width * header.height:,} pixels"
        raise LimitExceeded(f"the image has {size}; the limit is {MOST_SCANS} scans of {most:,} pixels", span=place)
    return decoder("picture", {"format": header.format, "form": form, "most": most}, data, limit=limit, place=place)


def picture_task(header: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    from PIL import Image, UnidentifiedImageError

    try:
        # Pillow warns if it repairs an image; here that is an error.
        with _warnings, warnings.catch_warnings():
            warnings.simplefilter("error")
            with Image.open(io.BytesIO(data), formats=[header["format"].upper()]) as image:
                if image.width * image.height > header["most"]:
                    raise LimitExceeded(f"{image.width:,} × {image.height:,} pixels; the limit is {header['most']:,}")
                deep = _DEEP.get(str(image.tile[0][3]), ()) if image.tile and header["form"] == SAMPLES else ()
                image.load()
                if deep:
                    pixels = _deep_samples(data, deep)
                else:
                    pixels = _rgba(image) if header["form"] == RGBA else _samples(image)
                result = {"width": image.width, "height": image.height, "dtype": pixels.dtype.str, "mode": image.mode}
    except UnidentifiedImageError as error:
        raise FormatError(f"invalid {header['format']} image") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise LimitExceeded(f"the image has too many pixels: {error}") from error
    except (OSError, ValueError, SyntaxError, LookupError, TypeError, OverflowError, EOFError, Warning) as error:
        raise FormatError(f"invalid {header['format']} image: {error}") from error
    except (ArithmeticError, AttributeError, RuntimeError) as error:
        raise FormatError(f"invalid {header['format']} image: {error!r}") from error
    return result, pixels.tobytes()


def _rgba(image: Any) -> NDArray[np.uint8]:
    if not image.mode.startswith(("I", "F")):
        return np.asarray(image.convert("RGBA"))
    values = np.asarray(image).astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = 0.0, 65535.0
    if finite.size and not image.mode.startswith("I;16") and image.format != "PNG":
        low, high = float(finite.min()), float(finite.max())
    grey = np.nan_to_num((values - low) * (255 / ((high - low) or 1))).clip(0, 255).astype(np.uint8)
    return np.dstack([grey, grey, grey, np.full_like(grey, 255)])


def _deep_samples(data: bytes, modes: Iterable[str]) -> NDArray[Any]:
    """Return the 16-bit samples of a PNG with several channels, of which Pillow normally keeps 8 bits."""
    from PIL import Image

    halves = []
    for mode in modes:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            image.tile = [tile._replace(args=mode) for tile in image.tile]
            image.load()
            halves.append(np.asarray(image))
    rows, columns = halves[0].shape[:2]
    pairs = np.ascontiguousarray(np.stack(halves, axis=-1).reshape(rows, columns, -1, 2))
    return pairs.view(">u2")[..., 0].astype("<u2")


def _samples(image: Any) -> NDArray[Any]:
    if image.mode in ("1", "P", "CMYK", "YCbCr"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    if image.mode not in _DTYPES:
        raise Unsupported(f"samples of images with mode {image.mode} are not supported")
    samples = np.asarray(image)
    return samples.astype(samples.dtype.newbyteorder("<"))


# --- headers ---------------------------------------------------------------------------------------------------------


def _number(data: bytes, at: int, size: int, order: Any = "little") -> int:
    return int.from_bytes(data[at : at + size], order)


def _png(data: bytes) -> PictureHeader:
    if len(data) < 26:
        return PictureHeader("png")
    bits, kind = data[24], data[25]
    mode = _PNG_MODES.get(kind, f"colour type {kind}") + (f", {plural(bits, 'bit')}" if bits != 8 else "")
    frames, at = 1, 8
    for _ in range(_STEPS):
        name = data[at + 4 : at + 8]
        if not name.isalpha() or name == b"IDAT":
            break
        if name == b"acTL":
            frames = max(_number(data, at + 8, 4, "big"), 1)
        at += 12 + _number(data, at, 4, "big")
    return PictureHeader("png", _number(data, 16, 4, "big"), _number(data, 20, 4, "big"), frames, mode)


def _jpeg(data: bytes) -> PictureHeader:
    at = 2
    for _ in range(_STEPS):
        if at + 9 >= len(data) or data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1  # fill byte
        elif marker in _JPEG_FRAMES:
            height, width, components = _number(data, at + 5, 2, "big"), _number(data, at + 7, 2, "big"), data[at + 9]
            return PictureHeader("jpeg", width, height, 1, _COMPONENTS.get(components, f"{components} components"))
        elif marker == 1 or 0xD0 <= marker <= 0xD8:
            at += 2
        else:
            at += 2 + max(_number(data, at + 2, 2, "big"), 2)
    return PictureHeader("jpeg")


def _gif(data: bytes) -> PictureHeader:
    """Return the header of a GIF; frames that exceed the logical screen enlarge the image, as in Pillow."""
    if len(data) < 13:
        return PictureHeader("gif")
    width, height = _number(data, 6, 2), _number(data, 8, 2)
    at, frames, room = 13 + _color_table(data[10]), 0, iter(range(_STEPS))
    while at < len(data) and frames < MOST_FRAMES:
        if data[at] == 0x21:
            at = _after_blocks(data, at + 2, room)
        elif data[at] == 0x2C and at + 10 <= len(data):
            width = max(width, _number(data, at + 1, 2) + _number(data, at + 5, 2))
            height = max(height, _number(data, at + 3, 2) + _number(data, at + 7, 2))
            frames += 1
            at = _after_blocks(data, at + 11 + _color_table(data[at + 9]), room)
        else:
            break
    return PictureHeader("gif", width, height, max(frames, 1), "palette")


def _color_table(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data: bytes, at: int, room: Iterator[int]) -> int:
    """Return the offset after a chain of GIF sub-blocks; the end of the data if the step limit `room` is used up."""
    while at < len(data) and next(room, None) is not None:
        if not data[at]:
            return at + 1
        at += data[at] + 1
    return len(data)


def _webp(data: bytes) -> PictureHeader:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        frames, at = 0, 12
        for _ in range(_STEPS):
            if at + 8 > len(data) or frames >= MOST_FRAMES:
                break
            frames += data[at : at + 4] == b"ANMF"
            at += 8 + (_number(data, at + 4, 4) + 1 & ~1)
        mode = "RGB and alpha" if data[20] & 0x10 else "RGB"
        return PictureHeader("webp", _number(data, 24, 3) + 1, _number(data, 27, 3) + 1, max(frames, 1), mode)
    if kind == b"VP8L" and len(data) >= 25:
        bits = _number(data, 21, 4)
        mode = "RGB and alpha" if bits >> 28 & 1 else "RGB"
        return PictureHeader("webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, 1, mode)
    if kind == b"VP8 " and len(data) >= 30:
        return PictureHeader("webp", _number(data, 26, 2) & 0x3FFF, _number(data, 28, 2) & 0x3FFF, 1, "RGB")
    return PictureHeader("webp")


def _tiff(data: bytes) -> PictureHeader:
    order = "little" if data.startswith(b"II") else "big"
    at, frames = _number(data, 4, 4, order), 0
    tags: dict[int, int] = {}
    seen = set()
    while 0 < at < len(data) - 2 and at not in seen and frames < MOST_FRAMES:
        seen.add(at)
        count = _number(data, at, 2, order)
        if not frames:
            for entry in range(at + 2, min(at + 2 + 12 * count, len(data) - 11), 12):
                size = {3: 2, 4: 4}.get(_number(data, entry + 2, 2, order), 0)
                tags[_number(data, entry, 2, order)] = _number(data, entry + 8, size, order)
        frames += 1
        at = _number(data, at + 2 + 12 * count, 4, order)
    samples = tags.get(277, 1)
    mode = "palette" if tags.get(262) == 3 else {4: "RGB and alpha"}.get(samples) or _COMPONENTS.get(samples, "")
    return PictureHeader("tiff", tags.get(256, 0), tags.get(257, 0), max(frames, 1), mode)


def _bmp(data: bytes) -> PictureHeader:
    if _number(data, 14, 4) == 12:
        return PictureHeader("bmp", _number(data, 18, 2), _number(data, 20, 2), 1, "RGB")
    height = int.from_bytes(data[22:26], "little", signed=True)
    bits = _number(data, 28, 2)
    mode = "palette" if bits <= 8 else "RGB and alpha" if bits == 32 else "RGB"
    return PictureHeader("bmp", _number(data, 18, 4), abs(height), 1, mode)


_READERS = {"png": _png, "jpeg": _jpeg, "gif": _gif, "webp": _webp, "tiff": _tiff, "bmp": _bmp}
