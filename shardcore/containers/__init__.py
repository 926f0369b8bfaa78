"""Containers (zip, gzip, zstd, npy, safetensors), opened as files or as objects of a shard. Read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardcore.codecs.array_headers import LENGTH, MOST_HEADER, NPY_MAGIC, header_stop
from shardcore.codecs.decompress import GZIP_MAGIC, ZSTD_MAGIC
from shardcore.shards.format import Certainty, Format, Verdict, lazily

if TYPE_CHECKING:
    from shardcore.sources.prefetched_source import PrefetchedSource

ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
"""Magic of the local header of a member, or of the end record of an empty archive."""

SKIPPABLE = tuple(bytes((0x50 + low, 0x2A, 0x4D, 0x18)) for low in range(16))
"""Magic numbers of skippable zstd frames."""


def _by_magic(what: str) -> Verdict:
    return Verdict(Certainty.MAGIC, f"magic of {what}")


def _safetensors(probe: PrefetchedSource) -> Verdict | None:
    """Detect safetensors by a plausible length followed by a JSON object."""
    stop = header_stop(probe.head(10))
    if stop is None or stop > min(probe.size, LENGTH + MOST_HEADER):
        return None
    last = probe.read(max(LENGTH, stop - 16), stop).rstrip(b" ")
    return Verdict(Certainty.MAGIC, "length and JSON header of safetensors") if last.endswith(b"}") else None


CONTAINERS = (
    Format(
        name="npy",
        title="NumPy array",
        suffixes=(".npy",),
        begins=(NPY_MAGIC,),
        detect=lambda probe: _by_magic("npy"),
        open=lazily("shardcore.containers.npy:open_shard"),
    ),
    Format(
        name="safetensors",
        title="safetensors",
        suffixes=(".safetensors",),
        detect=_safetensors,
        open=lazily("shardcore.containers.safetensors:open_shard"),
    ),
    Format(
        name="zip",
        title="zip archive",
        suffixes=(".zip", ".npz"),
        begins=ZIP_MAGICS,
        detect=lambda probe: _by_magic("zip"),
        open=lazily("shardcore.containers.zip:open_shard"),
    ),
    Format(
        name="gzip",
        title="gzip file",
        suffixes=(".gz",),
        begins=(GZIP_MAGIC,),
        detect=lambda probe: _by_magic("gzip"),
        open=lazily("shardcore.containers.gzip:open_shard"),
    ),
    Format(
        name="zstd",
        title="zstd file",
        suffixes=(".zst",),
        begins=(ZSTD_MAGIC, *SKIPPABLE),
        detect=lambda probe: _by_magic("zstd"),
        open=lazily("shardcore.containers.zstd:open_shard"),
    ),
)
"""Container formats in the order of detection."""
