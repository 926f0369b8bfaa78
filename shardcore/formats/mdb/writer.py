"""Writer of shards and of the xorbs with their content; `rekey` changes HMAC key and expiry in a copy of a shard."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from string import hexdigits
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.chunker import chunks
from shardcore.codecs.xet.hashes import SIZE, ZERO, chunk_hash, to_text, words
from shardcore.codecs.xet.xorb_builder import PackedXorb, XorbPacker, usual_chunks
from shardcore.errors import FormatError, UsageError
from shardcore.formats.mdb.index import MdbIndex
from shardcore.formats.mdb.layout import (
    CHUNK,
    CHUNK_LOOKUP,
    FOOTER,
    FOOTER_SIZE,
    NO_EXPIRY,
    RECORD_SIZE,
    protect_many,
    shard_name,
)
from shardcore.formats.mdb.serialization import (
    EMPTY_FOOTER,
    FULL,
    MINIMAL,
    UPLOAD,
    FileChunks,
    FileCollector,
    FooterValues,
    build,
    by_key,
    expiry_field,
    size_of,
    split,
)
from shardcore.formats.mdb.shard import MdbShard, open_shard
from shardcore.formats.mdb.xorbs import NAMES
from shardcore.model.objects import NoObjects
from shardcore.model.text import plural, short
from shardcore.shards.open_context import OpenContext
from shardcore.sources.base import on_failure
from shardcore.sources.memory import BytesSource
from shardcore.sources.prefetched_source import PrefetchedSource
from shardcore.writing.in_place import check_other_file
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan, PlannedFile, WrittenFile
from shardcore.writing.temporary import Draining, TemporaryFile, is_there
from shardcore.writing.temporary_names import sweep
from shardcore.writing.writer import Data, More, Sized, Writer, pieces_of

MAX_SHARD_SIZE = 64 * 1024 * 1024
"""Size of the largest shard that clients accept, in bytes."""

CACHE, STORED = "xet/shard-cache", "xet/xorbs/shards"
"""Folders in a store for its full shards, as in a client cache, and for its minimal shards, as on a server."""

BESIDE = "xorbs"

IN_STORE = "xet/xorbs/xorbs"

_SPOOLED = "default.xorb"

WORTH_A_THREAD = 256 * 1024
"""Minimum size in bytes of pieces whose SHA-256 is computed on a worker thread."""


class XorbOutput:
    """Writes xorbs below the target's folder, or into `folder` if not empty; `written` lists the new xorbs there."""

    def __init__(self, output: Output, folder: str) -> None:
        self._prefix = "" if folder else f"{IN_STORE if output.folder else BESIDE}/"
        root = output.target if output.folder or output.target is None else output.target.parent
        root = Path(folder) if folder else root
        self._folder = root / self._prefix if root is not None else None
        self._apart: Output | None = None
        if folder:
            self._apart = Output(None if output.planning else self._folder, force=output.force, folder=True)
        self._output = self._apart or output
        self._swept = False
        self._held = True  # the lock of the output covers the first file
        self.written: tuple[WrittenFile, ...] = ()

    def begin(self) -> Draining:
        if self._folder is not None and not self._output.folder and not self._swept:
            # Outside target folders, only temporary files named like a xorb are removed.
            sweep(self._folder, _SPOOLED)
        self._swept = True
        file = self._output.spool(self._prefix + _SPOOLED)
        if isinstance(file, TemporaryFile) and not self._held:
            # Locked, so that other processes do not remove the complete files of this one.
            file.hold()
            self._held = True
        file.prove()
        return file

    def settle(self, file: Draining, text: str, chunks: int) -> bool:
        """Rename the temporary file of a complete xorb and return True; return False if the xorb exists already."""
        if self._output.settle(file, self._prefix + NAMES[0].format(text)):
            file.complete(chunks)
            return True
        self._held = False
        return False

    def name_of(self, text: str) -> str:
        name = NAMES[0].format(text)
        return str(self._folder / name) if self._apart is not None and self._folder else self._prefix + name

    def unused(self, xorbs: list[PackedXorb]) -> tuple[str, ...]:
        """Return a note on xorbs that no shard of the store refers to; they are kept, as other shards may use them."""
        folder = self._folder
        used = {NAMES[0].format(to_text(xorb.hash)) for xorb in xorbs}
        unused = [path.name for path in folder.glob(NAMES[0].format("*")) if path.name not in used] if folder else []
        if not unused:
            return ()
        count = plural(len(unused), "xorb")
        return (f"{folder}: kept {count} that this store no longer uses, because other shards may use them",)

    def commit(self) -> None:
        """Rename the xorbs in a separate folder; called before the shard that refers to them is renamed."""
        if self._apart is not None:
            self.written = self._apart.commit()

    def discard(self) -> None:
        if self._apart is not None:
            self._apart.discard()


class MdbWriter(Writer):
    """Cuts files into chunks, writes new chunks into xorbs, and finally writes the shard.

    Equal contents become one file, equal chunks are stored once. The chunks of a failed input stay in the xorb.

    Args:
        output: The target; a folder becomes a store, laid out like `local://` of hf-xet.
        form: `full`, `minimal` or `upload`; not allowed for a store, which has a full and a minimal shard.
        compression: `auto` (smallest result per chunk), `none`, `lz4`, or `bg4` (LZ4 of grouped bytes).
        xorbs: Folder for xorbs; default: `xorbs` in the folder of the shard.
        expiry: An ISO date, Unix seconds or `none`.
        key: The HMAC key of the chunk hashes, 64 hex digits.
        created: An ISO date or Unix seconds; default: not recorded.
    """

    def __init__(
        self,
        output: Output,
        *,
        form: str = "",
        compression: str = "auto",
        xorbs: str = "",
        expiry: str = "",
        key: str = "",
        created: str = "",
    ) -> None:
        super().__init__(output)
        if output.folder and (form or xorbs):
            raise UsageError("form and xorbs are not supported for a store (a folder as output): it has its own xorbs")
        self._forms = (MINIMAL, FULL) if output.folder else (form or FULL,)
        for name, value in {"expiry": expiry, "key": key, "created": created}.items():
            if form == UPLOAD and value:
                raise UsageError(f"the upload form has no footer, so it cannot store {name}")
        times = read_time("created", created or "0") or 0, read_time("expiry", expiry)
        self._footer = FooterValues(read_key(key), *times)
        self._compression = compression
        self._out = XorbOutput(output, xorbs)
        if xorbs:
            self._opening["xorbs"] = xorbs
        self._files = FileCollector()
        self._known: dict[bytes, tuple[int, int]] = {}
        self._xorbs: list[PackedXorb] = []
        self._settled = 0  # number of chunks in the finished xorbs
        self._current: tuple[XorbPacker, Draining] | None = None
        self._content = 0
        # An existing store contains other shards, which this writer does not check.
        self.proven = not output.folder or output.target is None or not is_there(output.target)

    def _add(self, key: str | None, data: Data, more: More) -> str:
        if isinstance(data, Sized) and self.output.planning:
            return self._plan_size(data.size, more.label)
        found, digest, size = FileChunks(), hashlib.sha256(), 0
        workers = self.output.workers
        for chunk in chunks(_hashed(pieces_of(data, more.label), digest, workers)):
            raw = chunk_hash(chunk)
            place = self._known.get(raw)
            if place is None:
                packer = self._packer(len(chunk))
                place = self._known[raw] = (len(self._xorbs), packer.add(chunk, raw))
            found.add(raw, len(chunk), *place)
            size += len(chunk)
        return self._note(found, digest.hexdigest(), size, more.label)

    def _plan_size(self, size: int, label: str) -> str:
        """Add a file of known size and unknown content to a plan, assuming that it shares no chunk."""
        self.exact = False
        found, name = FileChunks(), hashlib.sha256(b"%d" % self._files.files).hexdigest()
        for one in usual_chunks(size):
            packer = self._packer(one)
            raw = hashlib.sha256(b"%d %d" % (len(self._xorbs), len(packer))).digest()
            found.add(raw, one, len(self._xorbs), packer.skip(one, raw))
        return self._note(found, name, size, label)

    def _note(self, found: FileChunks, digest: str, size: int, label: str) -> str:
        raw = self._files.add(found, digest)
        self._content += size
        shard, more = max(map(self._size, self._forms)), ": write to a folder instead"
        if self.output.folder:
            # A store can have several shards, but a file must fit into one.
            shard, more = size_of(FULL, 1, self._files.last, 0, 0), ""
        if shard > MAX_SHARD_SIZE:
            raise UsageError(
                f"with {label or 'this file'} the shard would have {shard:,} bytes; "
                f"the limit is {MAX_SHARD_SIZE:,}{more}"
            )
        return to_text(raw)

    def _size(self, form: str) -> int:
        xorbs, kept = len(self._xorbs), self._settled
        if self._current is not None:
            xorbs, kept = xorbs + 1, kept + len(self._current[0])
        return size_of(form, self._files.files, self._files.segments, xorbs, kept)

    def _packer(self, size: int) -> XorbPacker:
        """Return the xorb for a chunk of `size` bytes: the current one, or a new one if it would be too large."""
        if self._current is not None and self._current[0].fault_of(size):
            self._close_xorb()
        if self._current is None:
            file = self._out.begin()
            self._current = XorbPacker(file, self._compression, self.output.workers), file
        return self._current[0]

    def _close_xorb(self) -> None:
        if self._current is None:
            return
        packer, file = self._current
        packed = packer.finish()
        # A xorb that existed already was not read again.
        self.proven &= self._out.settle(file, to_text(packed.hash), len(packer))
        self._settled += len(packer)
        self._xorbs.append(packed)
        self._current = None

    def plan(self) -> Plan:
        packed = self._xorbs + ([self._current[0].plan()] if self._current is not None else [])
        # The same chunks in the same order give the same xorb.
        named = {self._out.name_of(to_text(xorb.hash)): xorb for xorb in packed}
        files = [PlannedFile(name, xorb.size, xorb.sections, NoObjects()) for name, xorb in named.items()]
        for name, data, _ in self._shards(packed):
            planned = open_shard(PrefetchedSource(BytesSource(data, name)), OpenContext())
            files.append(PlannedFile(name, len(data), planned.sections, planned.objects))
        return Plan(tuple(files), self.exact, self._content)

    def _shards(self, xorbs: list[PackedXorb]) -> Iterator[tuple[str, bytes, int]]:
        recipes = self._files.recipes(xorbs)
        parts = split(recipes, self._files.after(), MAX_SHARD_SIZE) if self.output.folder else [recipes]
        for form in self._forms:
            for part in parts:
                data = build(part, form, self._footer if form == FULL or not self.output.folder else EMPTY_FOOTER)
                if self.output.folder:
                    name = f"{STORED if form == MINIMAL else CACHE}/{shard_name(data)}"
                else:
                    name = self.output.target.name if self.output.target else ""
                yield name, data, len(part.files)

    def _complete(self) -> None:
        self._close_xorb()
        for name, data, files in self._shards(self._xorbs):
            file = self.output.spool(name) if self.output.folder else self.output.open()
            file.prove()
            file.write(data)
            if not self.output.folder or self.output.settle(file, name):
                file.complete(files)
        self._out.commit()

    def finish(self) -> tuple[WrittenFile, ...]:
        with on_failure(self._out.discard):
            written = super().finish()
        self.written = (*self._out.written, *written)
        if self.output.removed:
            self.notes += self._out.unused(self._xorbs)
        return self.written

    def abort(self) -> None:
        super().abort()
        self._out.discard()


def check_count(count: int, options: Mapping[str, Any]) -> None:
    """Raise UsageError if `count` distinct files do not fit into one shard; called before contents are read."""
    size = size_of(options.get("form") or FULL, count, count, 0, count)
    if size > MAX_SHARD_SIZE:
        raise UsageError(
            f"{plural(count, 'file')} with different contents need a shard of {size:,} bytes; "
            f"the limit is {MAX_SHARD_SIZE:,}: write to a folder instead"
        )


def _hashed(
    pieces: Iterable[bytes | bytearray | memoryview], digest: hashlib._Hash, workers: ThreadPoolExecutor | None
) -> Iterator[bytes | memoryview]:
    """Yield the pieces while `digest` is updated; large pieces are hashed on a worker thread."""
    begun: Future[None] | None = None
    for piece in pieces:
        if begun is not None:
            begun.result()
        held = piece if isinstance(piece, bytes) else bytes(piece)
        if workers is None or len(held) < WORTH_A_THREAD:
            begun = None
            digest.update(held)
        else:
            begun = workers.submit(digest.update, held)
        yield held
    if begun is not None:
        begun.result()


# --- rekeying, and values of the footer as text -----------------------------------------------------------------


def rekey(
    shard: MdbShard, target: str | Path, *, key: str = "", expiry: str = "", force: bool = False
) -> tuple[WrittenFile, ...]:
    """Write a copy of a shard with an HMAC key, a new expiry, or both; all other bytes stay the same.

    Args:
        shard: The shard; it does not change.
        target: Path of the new file.
        key: The HMAC key, 64 hex digits; empty to keep the chunk hashes.
        expiry: An ISO date, Unix seconds or `none`; empty to keep the expiry.
        force: Replace an existing file.

    Raises:
        UsageError: Nothing to change, the shard is keyed already or has no footer, or the target is not allowed.
        FormatError: The shard is damaged.
    """
    if not key and not expiry:
        raise UsageError("nothing to change; pass --key HEX, --expiry WHEN or both")
    check_other_file(shard.source, target)
    file, hmac_key = shard.file, read_key(key)
    index = file.load()
    if file.damage is not None:
        raise FormatError(f"a damaged shard cannot be rekeyed: {file.damage.message}", span=file.damage.span)
    if not file.footer_fields:
        raise UsageError("the upload form has no footer, so it cannot store an HMAC key or an expiry")
    if key and index.keyed:
        raise UsageError("the chunk hashes are keyed already; the original hashes cannot be restored")
    fields = dict(file.footer_fields)
    data = np.frombuffer(bytearray(index.data), np.uint8)
    if key:
        fields["chunk_hash_hmac_key"] = hmac_key
        _protect(index, data, hmac_key)
    if expiry:
        full = bool(file.layout.tables)
        fields["shard_key_expiry"] = expiry_field(read_time("expiry", expiry), for_ever=full)
    data[-FOOTER_SIZE:] = np.frombuffer(FOOTER.pack(**fields), np.uint8)
    output = Output(target, force=force)
    with on_failure(output.discard):
        target_file = output.open()
        target_file.write(data.tobytes())
        target_file.complete(len(shard.objects))
        return output.commit()


def _protect(index: MdbIndex, data: NDArray[np.uint8], key: bytes) -> None:
    """Replace the chunk hashes in `data` by keyed ones, and sort the chunk lookup table by their table keys."""
    start, stop = index.layout.cas_info
    hashes = data[start:stop].reshape(-1, RECORD_SIZE)[:, :SIZE]
    entries = index.records(CHUNK)
    hashes[entries] = protect_many(key, hashes[entries])
    table = index.layout.tables.get(CHUNK)
    if table is None:
        return
    rows = index.table_rows(CHUNK).copy()
    records = rows["index"].astype(np.int64) + 1 + rows["chunk"]
    wrong = np.flatnonzero(records >= len(hashes))
    if len(wrong):
        at = int(wrong[0])
        raise FormatError(f"entry {at} of the chunk lookup table refers to no record", span=table.span(at, at + 1))
    rows["key"] = words(hashes[records])[:, 0]
    data[table.start : table.stop] = np.frombuffer(CHUNK_LOOKUP.write(by_key(rows)), np.uint8)


def read_key(text: str) -> bytes:
    """Return the HMAC key from 64 hex digits; all zero for an empty text."""
    if not text:
        return ZERO
    if len(text) != 2 * SIZE or not set(text) <= set(hexdigits):
        raise UsageError(f"key must be 64 hex digits, not {short(text)}")
    key = bytes.fromhex(text)
    if key == ZERO:
        raise UsageError("key must not be all zeros, which means no key; omit it instead")
    return key


def read_time(name: str, text: str) -> int | None:
    """Return Unix seconds from an ISO date (default: UTC) or a number; if `name` is expiry, `none` and "" give None."""
    if text in ("", "none") and name == "expiry":
        return None
    try:
        if text.isascii() and text.isdigit():
            seconds = int(text)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            seconds = int(moment.timestamp())
    except (ValueError, OverflowError):
        seconds = -1
    if not 0 <= seconds < NO_EXPIRY:
        raise UsageError(f"{name} must be a date such as 2030-01-31, or Unix seconds, not {short(text)}")
    return seconds
