"""Compressed files of an unsharded data set, as cloud-volume writes them (`.gz`, `.br`, `.zstd`)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from shardcore.codecs.decompress import decompress_stream
from shardcore.errors import ShardError, SourceError, UsageError
from shardcore.writing.inputs import Content, opened
from shardcore.writing.writer import UnreadableInput, pieces_of

ENDINGS = {".gz": "gzip", ".br": "brotli", ".zstd": "zstd"}


def plain_name(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return stem if stem and dot + ending in ENDINGS else name


def content_of(path: Path) -> Content:
    codec = ENDINGS.get(path.suffix)
    return path if codec is None else lambda: _decoded(path, codec)


def _decoded(path: Path, codec: str) -> Iterator[bytes]:
    with opened(path) as stream:
        pieces = pieces_of(stream, str(path))
        try:
            if codec == "brotli":
                yield from _without_brotli(path, pieces)
            else:
                yield from decompress_stream(codec, pieces, limit=1 << 62)
        except UsageError:
            raise
        except ShardError as error:
            reason = error.message.removeprefix(f"cannot read {path}: ")
            raise UnreadableInput(f"cannot read {path}: {reason}") from error


def _without_brotli(path: Path, pieces: Iterator[bytes | bytearray | memoryview]) -> Iterator[bytes]:
    try:
        brotli = import_module("brotli")
    except ImportError as error:
        raise UsageError("decompressing .br files requires the Python package brotli (pip install brotli)") from error
    engine = brotli.Decompressor()
    try:
        for piece in pieces:
            yield engine.process(piece)
    except brotli.error as error:
        raise SourceError(f"cannot read {path}: brotli: {error}") from error
    if not engine.is_finished():
        raise SourceError(f"cannot read {path}: brotli: the compressed data is truncated")
