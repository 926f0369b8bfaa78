"""Writing DES shards: one file, or a folder routed by uid and date, with BigFiles (des-architecture, Write path)."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from shardcore.errors import ShardError, UsageError, reported_as
from shardcore.formats.des import layout
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.objects import DesObjects
from shardcore.formats.des.routing import DEFAULT_BITS, Route, ShardName, check_bits, shard_date
from shardcore.formats.des.sidecar import new_sidecar, sidecar_bytes, sidecar_name, time_of_day
from shardcore.model.objects import NoObjects, steps_by_sum
from shardcore.model.section import Section, SectionRole
from shardcore.model.text import plural, short
from shardcore.shards.open_context import OpenContext
from shardcore.sources.base import on_failure
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesSource
from shardcore.sources.prefetched_source import PrefetchedSource
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan, PlannedFile, WrittenFile
from shardcore.writing.temporary import STREAM_PIECE, Draining
from shardcore.writing.writer import (
    BARE,
    Data,
    Labels,
    More,
    OddName,
    Sized,
    TextColumn,
    Writer,
    pieces_of,
    twins_error,
)

MAX_UID = 65535
"""Longest uid, in bytes."""

DEFAULT_SKIP = (".jpg", ".jpeg", ".png", ".gif", ".gz", ".zip", ".bz2", ".xz")
"""Default suffixes of uids whose content is not compressed, as in the reference."""

LEVELS = {"zstd": (1, 22), "lz4": (0, 16)}
DEFAULT_LEVELS = {"zstd": 3}

THRESHOLD = 10 << 20
MAX_BYTES = 1_000_000_000
IN_MEMORY = 16 << 20
"""Largest content, in bytes, that is kept in memory before it is written."""
OPEN_FILES = 64
"""Maximum number of shards of a folder that are open at once."""
MANY_BYTES = 1 << 26
"""Maximum number of content bytes that `add_many` joins into one write."""

_uid_head = layout.UID_HEAD.packer.pack
_inline = layout.INLINE.packer.pack
_place_v1 = layout.PLACE_V1.packer.pack


class NewShard:
    def __init__(self, file: Draining, name: str, version: int) -> None:
        self.file = file
        self.name = name
        self.plain = 0
        self.count = 0
        # For the sidecar, one per entry: sha256 in hex, and `created_at` if it has a time of day.
        self.checksums: list[str] = []
        self.times: list[str] = []
        self._version = version
        self._index = bytearray()
        file.write(layout.HEADER.pack(version=version))

    def add(self, uid: bytes, body: bytes, size: int) -> None:
        """Add an entry; `body` is its stored bytes after the uid, `size` the uncompressed size of its content."""
        self._index += _uid_head(len(uid)) + uid + body
        self.count += 1
        self.plain += size

    def inline_body(self, start: int, codec: str, size: int, meta: bytes) -> bytes:
        length, code = self.file.at - start, layout.CODECS.index(codec)
        if self._version == 1:
            return _place_v1(start, length, code, length, size)
        return _inline(0, start, length, code, length, size, len(meta)) + meta

    def add_plain(self, uids: Sequence[bytes], contents: Sequence[bytes], sizes: np.ndarray) -> None:
        """Write many uncompressed contents, and add their entries, without metadata; version 2 only."""
        # Between two uids: the fixed part of one entry and the uid length of the next.
        between = np.zeros(len(uids), [("place", layout.INLINE.dtype), ("next", layout.UID_HEAD.dtype)])
        places = between["place"]
        places["length"] = places["compressed_size"] = places["uncompressed_size"] = sizes
        places["offset"] = np.cumsum(sizes) - sizes + self.file.at
        lengths = between["next"]["uid_length"]
        lengths[:] = np.roll(np.fromiter(map(len, uids), lengths.dtype, len(uids)), -1)
        parts: list[bytes] = [b""] * (2 * len(uids))
        parts[::2] = uids
        parts[1::2] = between.view(f"V{between.itemsize}").tolist()
        self._index += _uid_head(len(uids[0])) + b"".join(parts)
        del self._index[-layout.UID_HEAD.size :]
        self.file.write(b"".join(contents))
        self.count += len(uids)
        self.plain += int(sizes.sum())

    @property
    def index(self) -> bytes:
        return layout.INDEX_HEAD.pack(entry_count=self.count) + self._index

    @property
    def size(self) -> int:
        return self.file.at + layout.INDEX_HEAD.size + len(self._index) + layout.FOOTER.size

    def _entries(self) -> Entries:
        return Entries(self.index, self._version, self.file.at)

    def planned(self) -> PlannedFile:
        objects = DesObjects(DesFile(BytesSource(b"", self.name), self._entries(), {"version": self._version}, {}))
        return PlannedFile(self.name, self.size, layout.sections_of(self.file.at, self.size), objects)

    def sidecar(self) -> bytes:
        return sidecar_bytes(new_sidecar(self.name, self.size, self._entries(), self.checksums, self.times))

    def complete(self) -> None:
        index = self.index
        self.file.write(index)
        self.file.write(layout.FOOTER.pack(index_size=len(index)))
        self.file.complete(self.count)


def check_level(codec: str, level: int | None) -> int:
    if level is None:
        return DEFAULT_LEVELS.get(codec, 0)
    if codec not in LEVELS:
        raise UsageError("level requires codec=zstd or codec=lz4")
    low, high = LEVELS[codec]
    if not low <= level <= high:
        raise UsageError(f"level for {codec} must be {low} to {high}, not {level}")
    return level


def endings(text: str | None) -> frozenset[str]:
    """Return the suffixes in `skip=.jpg,.zip` in lower case; default: those of the reference."""
    if text is None:
        return frozenset(DEFAULT_SKIP)
    found = frozenset(part.strip().lower() for part in text.split(",") if part.strip())
    for one in sorted(found):
        if not one.startswith("."):
            raise UsageError(f"skip must be suffixes with a dot, such as .jpg,.zip, not {one!r}")
    return found


def ending_of(uid: str) -> str:
    name = uid.rstrip("/").rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if 0 < dot < len(name) - 1 else ""


class Compressor:
    def __init__(self, codec: str, level: int) -> None:
        self._codec = codec
        self._level = level
        if codec == "zstd":
            import zstandard

            self._zstd = zstandard.ZstdCompressor(level=level)

    def pieces(self, pieces: Iterable[bytes], size: int, *, whole: bool) -> Iterator[bytes]:
        """Yield the compressed frame of a content of `size` bytes; with `whole`, it is compressed in one call."""
        if self._codec == "zstd":
            if whole:
                yield self._zstd.compress(b"".join(pieces))
                return
            stream = self._zstd.compressobj(size=size)
            for piece in pieces:
                yield stream.compress(piece)
            yield stream.flush()
            return
        import lz4.frame

        if whole:
            yield bytes(lz4.frame.compress(b"".join(pieces), compression_level=self._level))
            return
        with lz4.frame.LZ4FrameCompressor(compression_level=self._level) as frame:
            yield bytes(frame.begin(size))
            for piece in pieces:
                yield bytes(frame.compress(piece))
            yield bytes(frame.flush())


_Held = bytes | Sized | IO[bytes]


class DesWriter(Writer):
    """Writes payloads as they arrive, then index and footer.

    Args:
        output: The file or folder to write.
        codec: Codec of payloads; the codec in the details of an object takes precedence.
        level: Level of the codec.
        threshold: Contents of more than this number of bytes become BigFiles.
        version: Version of the format, "1" or "2", which gives the layout of the entries.
        skip: Suffixes of uids whose contents are not compressed.
        n_bits: Folder: number of bits of a shard number.
        max_bytes: Folder: maximum of uncompressed bytes per shard; a larger object gets its own shard.
        date: Folder: `created_at` of objects that have none.
        sidecar: Write a `.meta` with checksums per shard.
        keep_date: Store `created_at` in the metadata.
    """

    def __init__(
        self,
        output: Output,
        *,
        codec: str = "none",
        level: int | None = None,
        threshold: int = THRESHOLD,
        version: str = "2",
        skip: str | None = None,
        n_bits: int | None = None,
        max_bytes: int | None = None,
        date: str | None = None,
        sidecar: bool = False,
        keep_date: bool = False,
    ) -> None:
        super().__init__(output)
        if not output.folder and not output.planning and (n_bits is not None or max_bytes is not None):
            raise UsageError("n_bits and max_bytes require a folder as output: a name that ends with /")
        self._codec = codec
        self._level = check_level(codec, level)
        self._skip = endings(skip)
        self._threshold = threshold
        self._version = 1 if version == "1" else 2
        self._n_bits = check_bits(DEFAULT_BITS if n_bits is None else n_bits)
        self._max_bytes = MAX_BYTES if max_bytes is None else max_bytes
        self._date = date
        self._keep_date = keep_date
        self._sidecar = sidecar
        if date is not None:
            shard_date(date)
        self._plain = codec == "none" and self._version == 2 and not (sidecar or output.folder or keep_date)
        self._compressors: dict[str, Compressor] = {}
        self._uids = TextColumn()
        self._labels = Labels()
        self._content = 0
        self._big: dict[str, int] = {}
        self._referenced: set[str] = set()
        self._shards: dict[str, NewShard] = {}
        self._parts: dict[tuple[str, str], int] = {}
        self._active: OrderedDict[str, NewShard] = OrderedDict()
        if not output.folder:
            self._opened(output.target.name if output.target else "", output.open(last=True))

    def _add(self, key: str | None, data: Data, more: More) -> str:
        label = more.label
        uid = _uid_bytes(key, label)
        if self._plain and more is BARE and isinstance(data, bytes) and len(data) <= self._threshold:
            # Fast path without options, because per-object checks dominate the time for small objects.
            (shard,) = self._shards.values()
            start = shard.file.at
            shard.file.write(data)
            shard.add(uid, shard.inline_body(start, "none", len(data), b""), len(data))
            self._uids.append(uid)
            self._content += len(data)
            return key or ""
        meta, created_at = self._meta(more, label or short(key))
        content, size = self._held(data, label)
        try:
            shard = self._shard_for(key or "", created_at, size, label)
            if size > self._threshold:
                body, digest = self._write_big(content, size, meta, label or short(uid))
            else:
                body, digest = self._write_inline(shard, content, size, meta, self._codec_of(key or "", more))
        finally:
            if not isinstance(content, (bytes, Sized)):
                content.close()
        shard.add(uid, body, size)
        # Duplicates are refused per shard, or per date of a folder.
        self._labels.note(len(self._uids), label)
        self._uids.append(shard_date(created_at).encode() + b"\0" + uid if self.output.folder else uid)
        if self._sidecar:
            shard.checksums.append(digest)
            shard.times.append(time_of_day(created_at))
        self._content += size
        return key or ""

    def _add_many(self, keys: Sequence[str] | None, contents: Sequence[bytes]) -> Sequence[str]:
        longest = max(map(len, contents), default=0)
        if keys is None or not self._plain or longest > min(self._threshold, MANY_BYTES):
            return super()._add_many(keys, contents)
        uids = _many_uid_bytes(keys)
        sizes = np.fromiter(map(len, contents), np.int64, len(contents))
        (shard,) = self._shards.values()
        for some in steps_by_sum(sizes, MANY_BYTES):
            shard.add_plain(uids[some], contents[some], sizes[some])
        self._uids.extend(uids)
        self._content += int(sizes.sum())
        return list(keys)

    def plan(self) -> Plan:
        self._check_twins()
        files = [_planned(layout.bigfile_name(digest.encode()), size) for digest, size in self._big.items()]
        files += [shard.planned() for shard in self._shards.values()]
        if self._sidecar:
            files += [_planned(_meta_name(name), len(shard.sidecar())) for name, shard in self._shards.items()]
        return Plan(tuple(files), self.exact, self._content)

    def _complete(self) -> None:
        self._check_twins()
        if not self._shards:
            raise UsageError("nothing to write: a folder of shards needs at least one object")
        for name, shard in self._shards.items():
            text = shard.sidecar() if self._sidecar else b""
            shard.complete()
            if text:
                file = self.output.open(_meta_name(name), last=True)
                file.write(text)
                file.complete()

    def finish(self) -> tuple[WrittenFile, ...]:
        """Write all files. BigFiles of a replaced shard that are no longer used are kept; a note has their number."""
        target, old = self.output.target, set[str]()
        if target is not None and self.output.force:
            old = _bigfiles_in(target) if self.output.folder else _bigfiles_of(target)
        written = super().finish()
        if target is not None and (left := old - self._referenced):
            folder = (target if self.output.folder else target.parent) / layout.BIGFILES
            sizes = []
            for digest in left:
                with suppress(OSError):
                    sizes.append((folder / digest).lstat().st_size)
            if sizes:
                kept = f"{plural(len(sizes), 'BigFile')} of {plural(sum(sizes), 'byte')}"
                others = "" if self.output.folder else "; other shards may refer to them"
                self.notes += (f"{folder} still contains {kept} that {target} no longer refers to{others}",)
        return written

    def _opened(self, name: str, file: Draining) -> NewShard:
        shard = self._shards[name] = NewShard(file, name, self._version)
        return self._activated(shard)

    def _activated(self, shard: NewShard) -> NewShard:
        """Mark a shard as the last used one; if too many are open, the least recently used one is closed meanwhile."""
        self._active[shard.name] = shard
        self._active.move_to_end(shard.name)
        if len(self._active) > OPEN_FILES:
            _, oldest = self._active.popitem(last=False)
            oldest.file.rest()
        return shard

    def _shard_for(self, uid: str, created_at: str, size: int, label: str) -> NewShard:
        if not self.output.folder:
            return next(iter(self._shards.values()))
        if not created_at:
            raise UsageError(f"{label or short(uid)} has no created_at, which routes it to a shard; pass -O date=DATE")
        try:
            place = shard_date(created_at), Route.of(uid, self._n_bits).hex
        except UsageError as error:
            raise UsageError(f"{label or short(uid)}: {error.message}") from None
        part = self._parts.setdefault(place, 0)
        shard = self._shards.get(str(ShardName(*place, part)))
        if shard is not None and (not shard.count or shard.plain + size <= self._max_bytes):
            return self._activated(shard)
        if shard is not None:
            part = self._parts[place] = part + 1
        name = str(ShardName(*place, part))
        return self._opened(name, self.output.open(name, last=True))

    def _write_inline(self, shard: NewShard, content: _Held, size: int, meta: bytes, codec: str) -> tuple[bytes, str]:
        """Write a payload; return its entry fields and its sha256 in hex ("" without a sidecar, zeros in a plan)."""
        file, start = shard.file, shard.file.at
        digest = hashlib.sha256() if self._sidecar else None
        if isinstance(content, Sized):
            file.skip(size)
            self.exact = self.exact and codec == "none" and not self._sidecar
            return shard.inline_body(start, codec, size, meta), "0" * 64
        with on_failure(file.rewind, start):
            pieces = _hashed_pieces(content, digest)
            if codec != "none":
                pieces = self._compressor(codec).pieces(pieces, size, whole=isinstance(content, bytes))
            for piece in pieces:
                file.write(piece)
        return shard.inline_body(start, codec, size, meta), digest.hexdigest() if digest else ""

    def _write_big(self, content: _Held, size: int, meta: bytes, who: str) -> tuple[bytes, str]:
        if self._version == 1:
            raise UsageError(
                f"{who} has {plural(size, 'byte')}: version 1 has no BigFiles; use version=2 or a higher threshold="
            )
        if isinstance(content, Sized):
            # A plan does not read the content, so it uses a placeholder hash.
            self.exact = False
            digest = hashlib.sha256(b"%d" % len(self._uids)).hexdigest()
            self._big[digest] = size
        else:
            computed = hashlib.sha256()
            file = self.output.spool(f"{layout.BIGFILES}/content")
            for piece in _hashed_pieces(content, computed):
                file.write(piece)
            file.complete()
            digest = computed.hexdigest()
            if self.output.settle(file, layout.bigfile_name(digest.encode())):
                self._big[digest] = size
        self._referenced.add(digest)
        head = layout.BIGFILE_HEAD.pack(flags=layout.BIGFILE_FLAG, hash_length=len(digest)) + digest.encode()
        return head + layout.BIGFILE_TAIL.pack(size=size, meta_length=len(meta)) + meta, digest

    def _held(self, data: Data, label: str) -> tuple[_Held, int]:
        """Return a content that can be read repeatedly (a temporary file above `IN_MEMORY` bytes), and its size."""
        if isinstance(data, bytes):
            return data, len(data)
        if isinstance(data, Sized) and self.output.planning:
            return data, data.size
        folder = str(self.output.target.parent) if self.output.target is not None else None
        with ExitStack() as stack:
            held = stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY, dir=folder))
            size = 0
            for piece in pieces_of(data, label):
                with reported_as(f"cannot write a copy of {label or 'the content'}"):
                    held.write(piece)
                size += len(piece)
            if size <= IN_MEMORY:
                held.seek(0)
                return held.read(), size
            stack.pop_all()  # the caller closes it
            return held, size

    def _meta(self, more: More, who: str) -> tuple[bytes, str]:
        meta, created_at = more.facts.get("meta") or {}, more.facts.get("created_at") or self._date or ""
        if not isinstance(meta, dict):
            raise UsageError(f"{who}: meta must be a JSON object, not {short(meta)}")
        if self._keep_date and created_at:
            try:
                shard_date(created_at)
            except UsageError as error:
                raise UsageError(f"{who}: created_at is {error.message}") from None
            meta = {"created_at": created_at} | meta
        if meta and self._version == 1:
            raise UsageError(f"{who}: version 1 cannot store metadata; use version=2")
        if not meta:
            return b"", created_at
        try:
            return json.dumps(meta, separators=(",", ":"), allow_nan=False).encode(), created_at
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"{who}: the metadata cannot be written as JSON: {error}") from None

    def _codec_of(self, uid: str, more: More) -> str:
        if (given := more.facts.get("codec")) is not None:
            return str(given)
        return "none" if self._codec == "none" or ending_of(uid) in self._skip else self._codec

    def _compressor(self, codec: str) -> Compressor:
        if codec not in self._compressors:
            level = self._level if codec == self._codec else check_level(codec, None)
            self._compressors[codec] = Compressor(codec, level)
        return self._compressors[codec]

    def _check_twins(self) -> None:
        if twins := self._uids.twins():
            uids = (self._uids[one] for one, _ in twins)
            names = (short((uid.partition(b"\0")[2] if self.output.folder else uid).decode()) for uid in uids)
            pairs = ((*map(self._labels.of, pair), name) for pair, name in zip(twins, names, strict=True))
            raise twins_error(pairs, len(twins), "uid")


def _bigfiles_of(path: Path) -> set[str]:
    if not os.path.isdir(path.parent / layout.BIGFILES):  # noqa: PTH112 - False if it cannot be seen
        return set()
    from shardcore.formats.des.shard import open_shard

    try:
        with FileSource(path) as source:
            entries = open_shard(PrefetchedSource(source), OpenContext()).file.entries
            digests = [entries.hash(row) for row in np.flatnonzero(entries.columns.big).tolist()]
    except ShardError:
        return set()
    return {digest.decode("ascii") for digest in digests if layout.is_hash(digest)}


def _bigfiles_in(folder: Path) -> set[str]:
    with suppress(OSError):
        return {path.name for path in (folder / layout.BIGFILES).iterdir() if layout.is_hash(os.fsencode(path.name))}
    return set()


def _hashed_pieces(content: bytes | IO[bytes], digest: Any) -> Iterator[bytes]:
    if isinstance(content, bytes):
        pieces: Iterator[bytes] = iter((content,))
    else:
        content.seek(0)
        pieces = iter(lambda: content.read(STREAM_PIECE), b"")
    for piece in pieces:
        if digest is not None:
            digest.update(piece)
        yield piece


def _uid_bytes(key: str | None, label: str = "") -> bytes:
    who = f"{label}: " if label else ""
    if key is None:
        raise UsageError(f"{who}an object of a DES shard requires a key (its uid)")
    try:
        uid = key.encode()
    except UnicodeEncodeError:
        raise OddName(f"{who}the uid {short(key)} cannot be encoded as UTF-8") from None
    if len(uid) > MAX_UID:
        raise OddName(f"{who}the uid has {len(uid):,} bytes; the limit is {MAX_UID:,}")
    return uid


def _many_uid_bytes(keys: Sequence[str]) -> list[bytes]:
    with suppress(UnicodeEncodeError):
        raw = list(map(str.encode, keys))
        if max(map(len, raw), default=0) <= MAX_UID:
            return raw
    return [_uid_bytes(key) for key in keys]


def check_uid(key: str) -> str:
    _uid_bytes(key)
    return key


def _meta_name(shard: str) -> str:
    return sidecar_name(shard) or f"{shard}.meta"


def _planned(name: str, size: int) -> PlannedFile:
    section = Section("content", SectionRole.DATA, 0, size, "The whole content.")
    return PlannedFile(name, size, (section,), NoObjects())


def checksum_of(options: Mapping[str, Any]) -> str:
    return "sha256" if options.get("sidecar") else ""
