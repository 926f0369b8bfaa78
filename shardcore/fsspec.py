"""Read-only fsspec file system over the objects of a shard: `shard://KEY::s3://bucket/x.shard`.

The path of an object is its key, encoded as in a link (`shardcore.model.inside_path`); `*`, `?`, `[` and `::` are also
percent-encoded, because fsspec interprets them. Keys that are relative paths keep `/`; in other keys it is `%2F`.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import weakref
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeVar
from urllib.parse import unquote

try:
    from fsspec import AbstractFileSystem
    from fsspec import filesystem as fsspec_filesystem
    from fsspec.core import url_to_fs
    from fsspec.spec import AbstractBufferedFile
except ImportError as error:
    raise ImportError("shardcore.fsspec needs fsspec: pip install 'shardscope[fsspec]'") from error

from shardcore.errors import KeyAbsent, MissingFile, SourceChanged, SourceError, StoreUntrusted, UsageError, reason_of
from shardcore.model.inside_path import inside_text
from shardcore.model.objects import ObjectRef, State
from shardcore.model.parallel import in_order
from shardcore.model.text import short
from shardcore.operations.description import ExtractOptions
from shardcore.operations.extraction.names import MAX_DEPTH, MAX_PATH_BYTES, is_relative_path
from shardcore.operations.extraction.selection import all_rows, outer_kinds, taken_rows
from shardcore.shards.inner_source import InnerSource, source_inside
from shardcore.shards.opening import open as open_shard
from shardcore.shards.prefetch import fetched_ahead
from shardcore.shards.shard import Shard
from shardcore.shards.tickets import absolute
from shardcore.sources.base import FAR_GAP, Source
from shardcore.sources.local import FileSource
from shardcore.sources.remote.address import is_address, parse_address
from shardcore.sources.remote.options import RemoteOptions
from shardcore.system import last_part

T = TypeVar("T")

BLOCK = 1 << 20
"""Default of `block_size` for a local shard: bytes read at once."""

REMOTE_BLOCK = 4 << 20
"""Default of `block_size` for a remote shard: bytes read at once, in parallel ranges."""

MOST_OPEN = 8
"""Number of recently used shards that stay open, for all file systems together."""

_LOCAL = ("file", "local")
_S3 = ("s3", "s3a")
_ADDRESSES = {"s3": "s3://", "s3a": "s3://", "gs": "gs://", "gcs": "gs://"}
_HTTP = ("http", "https")
_OWN_OPTIONS = frozenset({"use_listings_cache", "listings_expiry_time", "max_paths", "asynchronous", "loop"})
"""Options that fsspec itself handles, for every file system."""

_S3_NAMES = {
    "anon": "anonymous",
    "profile": "profile",
    "key": "access_key",
    "secret": "secret_key",
    "token": "session_token",
    "endpoint_url": "endpoint_url",
    "region_name": "region",
    "requester_pays": "requester_pays",
}
"""Field of `RemoteOptions` for each option of s3fs."""

_MAGIC = {"*": "%2A", "?": "%3F", "[": "%5B", "::": "%3A%3A"}

_PART = r"[\w+=~(-][\w .,;+=()~$&'!-]*"
_PLAIN = re.compile(rf"{_PART}(?:/{_PART}){{0,{MAX_DEPTH - 1}}}", re.ASCII)
"""Pattern of keys that need no encoding, tried first because a large shard may have many of them."""


def path_of(key: str) -> str:
    if len(key) <= MAX_PATH_BYTES and _PLAIN.fullmatch(key):
        return key
    text = inside_text(key.split("/") if is_relative_path(key) else (key,))[1:]
    for mark, escaped in _MAGIC.items():
        text = text.replace(mark, escaped)
    return text


def key_of(path: str) -> str:
    try:
        return "" if path == "@" else unquote(path, errors="surrogatepass")
    except UnicodeDecodeError as error:
        raise _absent(path) from error


class _OpenShard:
    """An open shard and the sorted paths of its objects; closed with the last reference to it."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.since = datetime.now(UTC)
        self._lock = threading.Lock()
        self._names: tuple[list[str], list[int]] | None = None
        self._taken = ExtractOptions(deleted=bool(shard.chosen.get("deleted")))
        self._end = weakref.finalize(self, shard.close)
        self._end.atexit = False

    def check_unchanged(self) -> None:
        source = self.shard.source
        if source is not None and source.watchable:
            source.check_unchanged()

    def ref(self, path: str) -> ObjectRef:
        try:
            found = self.shard.find(key_of(path))
        except StoreUntrusted:
            raise
        except (KeyAbsent, UsageError) as error:
            raise _absent(path) from error
        if found.state not in self._taken.states:
            raise _absent(path)
        return found

    def source(self, path: str) -> InnerSource:
        return source_inside(self.shard, self.ref(path).key or key_of(path))

    def size(self, ref: ObjectRef, path: str) -> int:
        if ref.size >= 0:
            return ref.size
        with self.source(path) as source:
            return source.size

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the contents that can be read together, by path. The caller reads the others, to get their errors."""
        shard, found = self.shard, dict[str, bytes]()
        with suppress(Exception):
            if shard.source is not None and shard.source.near:
                rows = shard.find_many(map(key_of, paths))
                there = [path for path, row in zip(paths, rows.tolist(), strict=True) if row >= 0]
                each = zip(there, shard.contents(rows[rows >= 0]), strict=True)
                found |= ((path, data) for path, data in each if isinstance(data, bytes))
        return found

    def listed(self) -> tuple[list[str], list[int]]:
        """Return the sorted paths of the objects that `extract` writes, and their sizes or -1. Reads the index."""
        with self._lock:
            if self._names is None:
                objects = self.shard.objects
                found: dict[str, int] = {}
                for rows in taken_rows(objects, all_rows(objects), self._taken, outer_kinds(objects)):
                    columns, keys = objects.page(rows)
                    sizes = columns.size.tolist()
                    found |= {path_of(key): n for key, n in zip(keys, sizes, strict=True) if key is not None}
                paths = sorted(found)
                self._names = paths, [found[path] for path in paths]
            return self._names

    def below(self, folder: str) -> Iterator[tuple[str, int | None]]:
        """Yield `(path, size)` for each direct child of a folder; `size` is None for a subfolder."""
        paths, sizes = self.listed()
        prefix = f"{folder}/" if folder else ""
        at = bisect_left(paths, prefix)
        while at < len(paths) and paths[at].startswith(prefix):
            first, slash, _ = paths[at][len(prefix) :].partition("/")
            if slash:
                yield prefix + first, None
                # `0` is the character after `/`: finds the next path after the folder.
                at = bisect_left(paths, f"{prefix}{first}0", at)
            else:
                yield paths[at], sizes[at]
                at += 1

    def is_folder(self, path: str) -> bool:
        form = self.shard.key_form
        has_folders = form.of_bytes is None and not form.numbers
        return not path or (has_folders and next(self.below(path), None) is not None)


_RECENT: OrderedDict[int, _OpenShard] = OrderedDict()
_RECENT_LOCK = threading.Lock()


def _keep(opened: _OpenShard) -> None:
    with _RECENT_LOCK:
        _RECENT[id(opened)] = opened
        _RECENT.move_to_end(id(opened))
        gone = [_RECENT.popitem(last=False)[1] for _ in range(len(_RECENT) - MOST_OPEN)]
    # Outside the lock: closing may be slow.
    del gone


class FsspecSource(Source):
    near = False
    merge_gap = FAR_GAP

    def __init__(self, fs: Any, path: str) -> None:
        self._fs, self._path = fs, path
        self.uri = fs.unstrip_protocol(path)
        self.name = last_part(path)
        size = self._ask(lambda: fs.info(path))["size"]
        if size is None:
            raise SourceError(f"{short(self.uri)}: the file system reports no size")
        self._size = int(size)

    @property
    def size(self) -> int:
        return self._size

    def _ask(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except Exception as error:  # file systems raise any error
            raise SourceError(f"{short(self._path)}: {reason_of(error)}") from error

    def _read(self, start: int, stop: int) -> bytes:
        data: bytes = self._ask(lambda: self._fs.cat_file(self._path, start=start, end=stop)) if start < stop else b""
        if len(data) != stop - start:
            raise SourceError(f"{short(self._path)}: received {len(data):,} bytes instead of {stop - start:,}")
        return data


class ObjectFile(AbstractBufferedFile):
    def __init__(self, fs: ShardFileSystem, path: str, opened: _OpenShard, **more: Any) -> None:
        self._opened: _OpenShard | None = opened
        self.source = opened.source(path)
        more.setdefault("size", self.source.size)
        block = more.pop("block_size", None) or (BLOCK if self.source.near else REMOTE_BLOCK)
        super().__init__(fs, path, "rb", block_size=block, **more)

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self.source.read(start, min(end, self.source.size))

    def close(self) -> None:
        super().close()
        if source := getattr(self, "source", None):
            source.release()
            self._opened = None


class ShardFileSystem(AbstractFileSystem):
    """Objects of a shard or data set as files, read-only. The shard is opened at the first read.

    A local file that changed is opened again. `invalidate_cache()` closes the shard. `fo` is the path or address of the
    shard; in a chained URL, the part after `::`. `target_options` are the options of the file system that contains the
    shard: for S3, those of s3fs that shardcore supports. `remote_options` are fields of `RemoteOptions`. Other options
    are arguments of `shardcore.open`.
    """

    protocol = "shard"
    root_marker = ""

    def __init__(
        self,
        fo: str | os.PathLike[str] = "",
        *,
        target_protocol: str | None = None,
        target_options: Mapping[str, Any] | None = None,
        remote_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._fo, self._target_protocol = _absolute(os.fspath(fo), target_protocol), target_protocol
        self._target_options = dict(target_options or {})
        self._remote_options = dict(remote_options or {})
        self._options = {name: value for name, value in options.items() if name not in _OWN_OPTIONS}
        self._lock = threading.Lock()
        self._last: Callable[[], _OpenShard | None] = lambda: None

    @property
    def fsid(self) -> str:
        return f"shard-{self._fs_token}"

    @property
    def shard(self) -> Shard:
        return self._opened().shard

    def _opened(self) -> _OpenShard:
        with self._lock:
            found = self._last()
            if found is not None:
                try:
                    found.check_unchanged()
                except SourceError:
                    found = None
            if found is None:
                found = _OpenShard(open_shard(self._where(), remote=self._remote(), **self._options))
                self._last = weakref.ref(found)
            _keep(found)
            return found

    def _where(self) -> str | Source:
        protocol, where = self._target_protocol, self._fo
        if not where:
            raise UsageError("no shard given: use shard://KEY::ADDRESS, or storage_options={'fo': ADDRESS}")
        if protocol in _ADDRESSES:
            return where if is_address(where) else _ADDRESSES[protocol] + where
        if protocol in (*_LOCAL, *_HTTP):
            return where
        if protocol is not None:
            return FsspecSource(fsspec_filesystem(protocol, **self._target_options), where)
        if is_address(where):
            try:
                parse_address(where)
            except UsageError:
                return FsspecSource(*url_to_fs(where, **self._target_options))
        return where

    def _remote(self) -> RemoteOptions | None:
        named = dict(self._remote_options)
        if self._target_protocol in (*_ADDRESSES, *_HTTP):
            named = self._translated() | named
        try:
            return RemoteOptions(**named) if named else None
        except TypeError:
            fields = RemoteOptions.__dataclass_fields__
            wrong = next(name for name in named if name not in fields)
            raise UsageError(f"unknown option {short(wrong)} in remote_options; use {', '.join(fields)}") from None

    def _translated(self) -> dict[str, Any]:
        given = dict(self._target_options)
        given |= given.pop("client_kwargs", None) or {}
        known = _S3_NAMES if self._target_protocol in _S3 else {}
        if wrong := next((name for name in given if name not in known and name not in _OWN_OPTIONS), None):
            raise UsageError(
                f"option {short(wrong)} of {self._target_protocol} is not supported: use remote_options, such as"
                " {'endpoint_url': …, 'profile': …}"
            )
        return {known[name]: value for name, value in given.items() if name in known and value not in (None, "")}

    def invalidate_cache(self, path: str | None = None) -> None:
        with self._lock:
            found = self._last()
            self._last = lambda: None
        with _RECENT_LOCK:
            _RECENT.pop(id(found), None)
        super().invalidate_cache(path)

    @classmethod
    def clear_instance_cache(cls) -> None:
        with _RECENT_LOCK:
            gone = list(_RECENT.values())
            _RECENT.clear()
        del gone
        super().clear_instance_cache()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        found = super()._strip_protocol(path)
        return found if isinstance(found, list) else found.lstrip("/")

    def _reading(self, work: Callable[[_OpenShard], T]) -> T:
        """Call `work` with the open shard; retry once when the file has changed."""
        try:
            return work(self._opened())
        except SourceChanged:
            self.invalidate_cache()
            return work(self._opened())

    def ls(self, path: str, detail: bool = True, **more: Any) -> list[Any]:
        path = self._strip_protocol(path)

        def listed(opened: _OpenShard) -> list[dict[str, Any]]:
            if opened.is_folder(path):
                return [_entry(name, size) for name, size in opened.below(path)]
            return [self._info(opened, path)]

        found = self._reading(listed)
        return found if detail else [one["name"] for one in found]

    def info(self, path: str, **more: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        return self._reading(lambda opened: self._info(opened, path))

    def _info(self, opened: _OpenShard, path: str) -> dict[str, Any]:
        if not path:
            return _entry(path, None)
        try:
            ref = opened.ref(path)
        except FileNotFoundError:
            if opened.is_folder(path):
                return _entry(path, None)
            raise
        return _entry(path, opened.size(ref, path)) | {"key": ref.key, "state": State(ref.state).name.lower()}

    def exists(self, path: str, **more: Any) -> bool:
        try:
            self.info(path)
        except MissingFile:
            raise  # the shard itself is missing
        except FileNotFoundError:
            return False
        return True

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **more: Any) -> bytes:
        path = self._strip_protocol(path)

        def read(opened: _OpenShard) -> bytes:
            ref = opened.ref(path)
            if start is None and end is None:
                return opened.shard.read(ref)
            first, last = _range(start, end, lambda: opened.size(ref, path))
            return opened.shard.read_range(ref, first, max(first, last))

        return self._reading(read)

    def cat_ranges(
        self,
        paths: Sequence[str],
        starts: int | Sequence[int | None] | None,
        ends: int | Sequence[int | None] | None,
        max_gap: int | None = None,
        on_error: str = "return",
        **more: Any,
    ) -> list[Any]:
        first = starts if isinstance(starts, Sequence) else [starts] * len(paths)
        last = ends if isinstance(ends, Sequence) else [ends] * len(paths)
        if not len(paths) == len(first) == len(last):
            raise ValueError("give one start and one end per path")
        groups: dict[str, list[int]] = {}
        for number, path in enumerate(paths):
            groups.setdefault(self._strip_protocol(path), []).append(number)
        out: list[Any] = [None] * len(paths)

        def read(opened: _OpenShard, path: str) -> list[bytes]:
            with opened.source(path) as source:
                ranges = [_range(first[n], last[n], lambda: source.size) for n in groups[path]]
                size = source.size
                return source.read_many([(min(a, size), max(min(a, size), min(b, size))) for a, b in ranges])

        for path, found in self._each(groups, read, returns=on_error == "return", whole=False):
            for at, number in enumerate(groups[path]):
                out[number] = found if isinstance(found, Exception) else found[at]
        return out

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **more: Any) -> Any:
        paths = self.expand_path(path, recursive=recursive)
        if isinstance(path, str) and paths == [self._strip_protocol(path)]:
            return self.cat_file(paths[0])
        paths = [one for one in paths if not (recursive and self.isdir(one))]
        have: dict[str, Any] = dict(self._opened().contents(paths))
        rest = [one for one in paths if one not in have]
        read = self._each(rest, lambda opened, one: opened.shard.read(opened.ref(one)), returns=on_error != "raise")
        have |= {one: found for one, found in read if on_error == "return" or not isinstance(found, Exception)}
        return {one: have[one] for one in paths if one in have}

    def _each(
        self, paths: Iterable[str], read: Callable[[_OpenShard, str], T], *, returns: bool, whole: bool = True
    ) -> Iterator[tuple[str, T | Exception]]:
        """Yield each path with its result, in order; several are read at a time.

        With `returns`, errors are yielded instead of raised. With `whole`, adjacent contents are fetched together.
        """
        opened = self._opened()

        def looked_up(path: str) -> ObjectRef | None:
            try:
                return opened.ref(path)
            except Exception:  # noqa: BLE001 - reading it raises the error again
                return None

        def one(path: str) -> tuple[str, T | Exception]:
            try:
                return path, read(opened, path)
            except Exception as error:
                if not returns:
                    raise
                return path, error

        shard = opened.shard
        return in_order(one, fetched_ahead(shard, paths, looked_up) if whole else paths, shard.jobs)

    def isdir(self, path: str) -> bool:
        path = self._strip_protocol(path)
        return self._reading(lambda opened: opened.is_folder(path))

    def modified(self, path: str) -> datetime:
        opened = self._opened()
        source = opened.shard.source
        return datetime.fromtimestamp(source.modified / 1e9, UTC) if isinstance(source, FileSource) else opened.since

    def ukey(self, path: str) -> str:
        source = self._opened().shard.source
        return f"{source.identity if source is not None else self._fo}/{self._strip_protocol(path)}"

    def _open(
        self, path: str, mode: str = "rb", block_size: int | None = None, autocommit: bool = True, **more: Any
    ) -> ObjectFile:
        if mode != "rb":
            self._refuse()
        return self._reading(lambda opened: ObjectFile(self, path, opened, block_size=block_size, **more))

    def __reduce__(self) -> Any:
        make, (kind, given, named) = super().__reduce__()
        # `fo` as given: the other process finds it in its instance cache.
        return make, ((kind, (self._fo, *given[1:]), named) if given else (kind, (), {**named, "fo": self._fo}))

    def _refuse(self, *arguments: Any, **named: Any) -> NoReturn:
        text = "shards are read only through fsspec; write them with shardcore.create"
        raise OSError(errno.EROFS, text)

    mkdir = makedirs = rmdir = rm = _rm = rm_file = cp_file = mv = touch = put_file = pipe_file = _refuse


def _entry(path: str, size: int | None) -> dict[str, Any]:
    if size is None:
        return {"name": path, "size": 0, "type": "directory"}
    return {"name": path, "size": size if size >= 0 else None, "type": "file"}


def _range(start: int | None, end: int | None, size: Callable[[], int]) -> tuple[int, int]:
    """Return the offsets of an fsspec range as non-negative numbers; `size` is called only if they depend on it."""
    first = start or 0
    first = max(size() + first, 0) if first < 0 else first
    last = size() if end is None else size() + end if end < 0 else end
    return first, max(first, last)


def _absolute(where: str, protocol: str | None) -> str:
    local = where and (protocol in _LOCAL or (protocol is None and "://" not in where and not is_address(where)))
    return absolute(where) if local else where


def _absent(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "the shard has no such object", path)
