"""Files that are not shards but are often opened by mistake: their kind, and advice."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from shardcore.errors import SourceError, says_absent
from shardcore.model.safe_text import visible
from shardcore.sources.base import WHOLE_HEAD

if TYPE_CHECKING:
    from shardcore.sources.base import Folder
    from shardcore.sources.prefetched_source import PrefetchedSource

_END = 4096
"""Bytes examined at the end of a file; detection has already read them."""

_MOST_AXES = 32
"""Maximum parent folders of a chunk searched for zarr array metadata."""

_XML = rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?"
_AGAIN = "check the address and the permissions, and fetch the file again"

_BEGINNINGS = (
    (
        rb"version https?://[^\n]*/spec/v1\n.{0,200}?size (?P<size>\d{1,19})\n",
        "a Git LFS pointer ({size} bytes): git lfs pull fetches the file",
    ),
    (rb"/annex/objects/", "a git-annex pointer: git annex get fetches the file"),
    (_XML + rb"(?i:<(!doctype )?html)", "a web page (HTML), such as a login page or a list: fetch the file itself"),
    (
        _XML + rb"<Error[^>]*>.{0,200}?<Code>(?P<code>[^<]{1,80})</Code>",
        "an error document of an object store ({code}): " + _AGAIN,
    ),
    (_XML + rb"<ListBucketResult", "a listing of a bucket: fetch one of its files"),
    (
        rb'\s*\{\s*(?="(?:errors?|code|message)"\s*:)[^\0]{0,400}?"(?:error|message)"\s*:\s*"(?P<why>[^"]{1,80})',
        "an error document of a server ({why}): " + _AGAIN,
    ),
    (
        rb'\s*\{[^\0]*?("@type"\s*:\s*"neuroglancer_(?!uint64_sharded)|"scales"\s*:)',
        "the info of a Neuroglancer data set: open its folder",
    ),
    (rb'\s*\{[^\0]{0,400}?"shard_file"\s*:\s*"(?P<file>[^"/\\]{1,255})"', "a DES sidecar: open {file}"),
    (rb'\s*\{[^\0]*?"zarr_format"\s*:', "the metadata of zarr: open its folder with zarr"),
    (rb"MerkleDB Shard\0", "a MerkleDB shard of XetHub, before Hugging Face: read it with git-xet of XetHub"),
    (rb"\x9e\xa8b2frame\0.{0,200}?\xa4b2nd", "a Blosc2 array (b2nd): open it with blosc2.open"),
    (rb"\x9e\xa8b2frame\0", "a Blosc2 frame, not Bloscpack: open it with blosc2.open"),
    (rb".{257}ustar", "a tar archive, such as a WebDataset shard: tar -xf extracts it"),
    (rb"PAR1", "a Parquet file: read it with pyarrow or DuckDB"),
    (rb"ARROW1\0\0", "an Arrow file: read it with pyarrow"),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file: read it with h5py"),
    (rb"PACK\0\0\0[\x02\x03]", "a Git pack: git unpack-objects extracts it"),
    (rb"\xfftOc\0\0\0\x02", "the index of a Git pack: git verify-pack -v lists it"),
    (rb"\xfd7zXZ\0", "a file compressed with xz: xz -d decompresses it"),
    (rb"BZh[1-9]1AY&SY", "a file compressed with bzip2: bzip2 -d decompresses it"),
    (rb"\x04\x22\x4d\x18", "a file compressed with lz4: lz4 -d decompresses it"),
)
"""Patterns of the first bytes, and descriptions, with groups of the pattern in braces."""


def other_file(probe: PrefetchedSource, *, by_beginning: bool = False) -> str:
    """Return kind and advice for a file that is not a shard, or empty; with `by_beginning`, only by its first bytes."""
    head = probe.head(probe.head_size)
    for pattern, text in _BEGINNINGS:
        if found := re.match(pattern, head, re.DOTALL):
            return text.format_map({name: _shown(value) for name, value in found.groupdict().items()})
    if by_beginning:
        return ""
    return _mds(probe, head) or _blosc(probe, head) or _zarr_chunk(probe) or _zeros(probe, head)


def other_folder(folder: Folder) -> str:
    try:
        with folder.open("zarr.json") as source:
            text = source.read_first(source.head_size)
    except SourceError as error:
        if not says_absent(error):
            raise
        return ""
    if (node := re.search(rb'"node_type"\s*:\s*"(array|group)"', text)) is None:
        return ""
    name, shards = node[1].decode(), " with shards" if b'"sharding_indexed"' in text else ""
    return f"a zarr v3 {name}{shards}: open the {name} with zarr"


def _shown(value: bytes) -> str:
    return f"{int(value):,}" if value.isdigit() else visible(value.decode("utf-8", "replace"))


def _mds(probe: PrefetchedSource, head: bytes) -> str:
    numbers = struct.unpack_from(f"<{len(head) // 4}I", head)
    if len(numbers) < 2 or not 0 < numbers[0] < probe.size // 4:
        return ""
    after, offsets = 4 * (numbers[0] + 2), numbers[1 : numbers[0] + 2]
    if not after < offsets[0] <= after + WHOLE_HEAD or list(offsets) != sorted(offsets) or offsets[-1] > probe.size:
        return ""
    if after < len(head) and not re.search(rb'"format": ?"mds"', head[after : offsets[0]]):
        return ""
    return "a MosaicML shard (MDS): read it with the package mosaicml-streaming"


def _blosc(probe: PrefetchedSource, head: bytes) -> str:
    if len(head) < 16 or head[0] not in range(1, 7):
        return ""
    _, block, stored = struct.unpack_from("<III", head, 4)
    name = "Blosc2" if head[0] > 2 else "Blosc"
    fits = block and stored == probe.size
    return f"a {name} chunk on its own, not Bloscpack: blosc2.decompress reads it" if fits else ""


def _zarr_chunk(probe: PrefetchedSource) -> str:
    """Recognise a zarr chunk by its path and by the array metadata in a parent folder."""
    folder = probe.folder
    if not re.fullmatch(r"(c\.)?\d+(\.\d+)*", probe.name):
        return ""
    for _ in range(_MOST_AXES):
        if folder is None or not folder.name.isdecimal():
            break
        folder = folder.parent()
    if folder is not None and folder.name == "c":
        folder = folder.parent()
    array = other_folder(folder) if folder is not None else ""
    return array and f"a chunk of {array}"


def _zeros(probe: PrefetchedSource, head: bytes) -> str:
    if (head + probe.read_last(_END)).strip(b"\0"):
        return ""
    whole = "nothing but zeros" if head else "empty"
    what = whole if len(head) == probe.size else f"zeros in its first {len(head):,} and last {_END:,} bytes"
    return f"{what}: probably an unfinished download or copy; fetch it again"
