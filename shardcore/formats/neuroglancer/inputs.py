"""Inputs for writing a data set: files named by key, chunks of an array, or an unsharded data set."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from shardcore.codecs.decompress import decompress_stream
from shardcore.codecs.json_text import parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, ShardError, SourceError, UsageError
from shardcore.formats.neuroglancer.chunks import ENDINGS, MANIFEST, cell_key, chunk_key, plain_name
from shardcore.formats.neuroglancer.info import (
    ANNOTATION_TYPE,
    FOLDER_MEMBERS,
    INFO_LIMIT,
    INFO_LIMITS,
    MESH_TYPE,
    PROPERTIES_TYPE,
    SKELETON_TYPE,
    VOLUME_TYPE,
    KeySpace,
    SpaceKind,
    parse_info,
    type_of,
)
from shardcore.formats.neuroglancer.info_writer import (
    SpaceDescription,
    describe_volume,
    of_spec,
    spaces_of,
    volume_chunks,
)
from shardcore.formats.neuroglancer.origin import INFO_NAME, LEVELS_ABOVE
from shardcore.formats.neuroglancer.sharding import key_number
from shardcore.model.text import plural, short
from shardcore.sources.local import read_side_file
from shardcore.system import is_link
from shardcore.writing.inputs import Content, FormatInputs, InputItem, LeftOut, input_files, opened
from shardcore.writing.writer import OddName, UnreadableInput, pieces_of

LISTED = 3
"""Maximum number of skipped files that a note names as examples."""

_NUMBER = re.compile(r"[0-9]{1,20}")
_LEGACY = re.compile(r"[0-9]{1,20}:[0-9]+(:.*)?")
_LEGACY_TYPE = "neuroglancer_legacy_mesh"
_LEGACY_TEXT = "a mesh in the legacy form; only multi-resolution meshes can be sharded"


def gather(paths: Sequence[Path], options: Mapping[str, Any], left_out: LeftOut) -> FormatInputs:
    """Return the objects in the inputs (files, a folder, or an array); skipped files are added to `left_out`."""
    volume = options.get("volume")
    if volume is not None:
        if paths:
            raise UsageError("volume cannot be combined with other inputs")
        described = describe_volume(volume, options.get("chunk_size"), options.get("resolution"), options.get("kind"))
        return FormatInputs(volume_chunks(volume, described), total=math.prod(described.space().grid or ()))
    sets = [found for path in paths if path.is_dir() and (found := unsharded_at(path)) is not None]
    if not sets:
        return _files(paths, options, left_out)
    if len(paths) > 1:
        raise UsageError(f"{sets[0].folder} is a data set and cannot be combined with other inputs")
    items, notes = sets[0].items()
    return FormatInputs(items, {"template": dict(sets[0].infos)}, notes)


def _files(paths: Sequence[Path], options: Mapping[str, Any], left_out: LeftOut) -> FormatInputs:
    files = list(input_files(paths, left_out))
    items: list[InputItem] = []
    space = _space(options)
    if any(plain_name(name).endswith(MANIFEST) for _, name in files):
        items, files = pairs(files)
        space = None
    return FormatInputs(chain(items, _items(files, space, left_out)))


def _items(files: Iterable[tuple[Path, str]], space: KeySpace | None, left_out: LeftOut) -> Iterator[InputItem]:
    for path, name in files:
        plain = plain_name(name)
        try:
            key = chunk_key(plain.rpartition("/")[2], space) if space is not None else None
            key = key if key is not None else key_of_name(plain)
        except UsageError as error:
            left_out.fail(str(path), error)
        else:
            yield InputItem(key, content_of(path), str(path), name)


def _space(options: Mapping[str, Any]) -> KeySpace | None:
    if options.get("spec") is None:
        return None
    _, described = of_spec(options["spec"])
    return described.space() if described.kind is not SpaceKind.UNKNOWN else None


def checked_key(text: str) -> str:
    return str(key_number(text))


def key_of_name(name: str) -> str:
    """Return the key that is the stem of a file name; raise OddName if the stem is not a number."""
    last = PurePosixPath(name).name
    stem = last.rpartition(".")[0] or last
    try:
        return str(key_number(stem))
    except UsageError:
        raise OddName(f"{name}: the file name must be the key, a decimal or 0x number") from None


# --- compressed files --------------------------------------------------------------------------------------------


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


# --- unsharded data sets -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Unsharded:
    """A folder of an unsharded key space: one file per object, or two per mesh."""

    folder: Path
    described: SpaceDescription

    def items(self, above: str = "") -> tuple[list[InputItem], tuple[str, ...]]:
        """Return the objects, whose names begin with `above`, and notes on skipped files."""
        left_out = LeftOut()
        listed = [path.name for path, _ in input_files([self.folder], left_out, deep=False)]
        links = [f"{self.folder}: {note}" for note in left_out.notes()]
        names = [name for name in listed if name != INFO_NAME and not name.startswith(".")]
        if self.described.kind is SpaceKind.MESH:
            taken, rest = pairs([(self.folder / name, f"{above}{name}") for name in names])
            return taken, (*links, *self._left_out(path.name for path, _ in rest))
        key_of = self._key_rule()
        keys = {name: key_of(plain_name(name)) for name in names}
        items = [
            InputItem(key, content_of(self.folder / name), str(self.folder / name), f"{above}{name}")
            for name, key in keys.items()
            if key is not None
        ]
        return items, (*links, *self._left_out(name for name, key in keys.items() if key is None))

    def _key_rule(self) -> Callable[[str], str | None]:
        space = self.described.space()
        if self.described.kind is SpaceKind.VOLUME:
            return lambda name: chunk_key(name, space)
        if self.described.kind is SpaceKind.ANNOTATION_SPATIAL:
            return lambda name: cell_key(name, space)
        return lambda name: str(key_number(name, str(self.folder / name))) if _NUMBER.fullmatch(name) else None

    def _left_out(self, names: Iterable[str]) -> tuple[str, ...]:
        found = list(names)
        if not found:
            return ()
        more = f", and {len(found) - LISTED:,} more" if len(found) > LISTED else ""
        names_text = ", ".join(map(short, found[:LISTED]))
        return (f"{self.folder}: {plural(len(found), 'file')} left out, not named as objects: {names_text}{more}",)


@dataclass(frozen=True, slots=True, eq=False)
class UnshardedSet:
    """Unsharded data set with one or more key spaces; `infos` has the infos by folder, "" for that of the data set."""

    folder: Path
    parts: Sequence[Unsharded]
    infos: Mapping[str, Mapping[str, Any]]
    notes: Sequence[str] = ()

    def items(self) -> tuple[list[InputItem], tuple[str, ...]]:
        found: list[InputItem] = []
        notes = list(self.notes)
        for part in self.parts:
            folder = part.described.folder(part.described.space())
            items, left_out = part.items(f"{folder}/" if len(self.parts) > 1 and folder else "")
            found += items
            notes += left_out
        return found, tuple(notes)


def unsharded_at(folder: Path) -> UnshardedSet | None:
    """Return the data set in a folder: a volume, one scale, meshes, skeletons or annotations; None without an info.

    Raises UsageError if it cannot be sharded, or is sharded already.
    """
    members = _info(folder)
    if members is not None:
        kind = type_of(members)
        if kind == VOLUME_TYPE:
            return _root(folder, members)
        if kind == ANNOTATION_TYPE:
            return _annotations(folder, members)
        if kind == _LEGACY_TYPE:
            raise UsageError(f"{folder}: {_LEGACY_TEXT}")
        if not isinstance(kind, str) or not kind.startswith("neuroglancer_"):
            return None
        if members.get("sharding") is not None:
            raise _sharded_already(folder)
        return UnshardedSet(folder, [Unsharded(folder, one) for one in _described(folder, members)], {"": members})
    whole = folder.absolute()
    inside = ""
    for above in whole.parents[:LEVELS_ABOVE]:
        inside = f"{whole.relative_to(above).as_posix()}"
        members = None
        with contextlib.suppress(SourceError):
            # Errors in folders above the given one do not matter.
            members = _info(above)
        for scale in _scales(members or {}):
            if scale.get("key") == inside:
                return _scale(folder, above, members or {}, scale)
    return None


def pairs(files: Sequence[tuple[Path, str]]) -> tuple[list[InputItem], list[tuple[Path, str]]]:
    """Return the meshes among files (`<id>.index`, the manifest, and `<id>`, the fragments), and the other files.

    Raises UsageError if a manifest is missing or a mesh has the legacy form.
    """
    named: dict[str, tuple[Path, str]] = {}
    for path, name in files:
        if named.setdefault(plain_name(name), (path, name)) != (path, name):
            raise UsageError(f"{named[plain_name(name)][0]} and {path} are two versions of the same file")
    items: list[InputItem] = []
    rest: list[tuple[Path, str]] = []
    for plain, (path, name) in named.items():
        last = plain.rpartition("/")[2]
        number = last.removesuffix(MANIFEST)
        if _LEGACY.fullmatch(last):
            raise UsageError(f"{path}: {_LEGACY_TEXT}")
        if not _NUMBER.fullmatch(number):
            rest.append((path, name))
        elif last.endswith(MANIFEST):
            beside = named.get(plain.removesuffix(MANIFEST))
            fragments = content_of(beside[0]) if beside is not None else b""
            key = str(key_number(number, str(path)))
            items.append(InputItem(key, content_of(path), str(path), name, {"fragments": fragments}))
        elif plain + MANIFEST not in named:
            raise UsageError(f"{path} has no manifest: {last}{MANIFEST} not found")
    return items, rest


def _root(folder: Path, members: Mapping[str, Any]) -> UnshardedSet:
    """Return the unsharded scales of a volume, and the meshes and skeletons that its info names."""
    scales = _scales(members)
    there = [scale for scale in scales if _is_below(folder, scale.get("key"))]
    plain = [scale for scale in there if scale.get("sharding") is None]
    if there and not plain:
        raise _sharded_already(folder)
    if not there:
        raise UsageError(f"{folder} has the info of a volume, but no folders of its scales")
    notes = [
        f"scale {scale.get('key')} is left out: {_why_not_below(folder, scale.get('key'))}"
        for scale in scales
        if scale not in there
    ]
    notes += [f"scale {scale.get('key')} is left out: it is sharded already" for scale in there if scale not in plain]
    taken = {**members, "scales": plain}
    parts = [
        Unsharded(folder / str(scale["key"]), described)
        for scale, described in zip(plain, _described(folder, taken), strict=True)
    ]
    infos: dict[str, Mapping[str, Any]] = {"": taken}
    for name in (*FOLDER_MEMBERS, "segment_properties"):
        below = members.get(name)
        if not isinstance(below, str) or not (folder / below).is_dir():
            continue
        if not _is_below(folder, below):
            notes.append(f"{below} is left out: {_why_not_below(folder, below)}")
            continue
        inner = _info(folder / below) or {}
        if why := _why_not_packed(inner):
            notes.append(f"{folder / below} is left out: {why}; the new info refers to it, so copy it manually")
            continue
        infos[below] = inner
        if inner.get("@type") == PROPERTIES_TYPE:
            continue
        parts += [Unsharded(folder / below, described) for described in _described(folder / below, inner, below)]
    return UnshardedSet(folder, parts, infos, notes)


def _why_not_packed(info: Mapping[str, Any]) -> str:
    """Return the reason why the objects of a volume's subfolder cannot be packed with it, or "" if they can."""
    if not info:
        return "it has no readable info"
    kind = info.get("@type")
    if kind == _LEGACY_TYPE:
        return _LEGACY_TEXT
    if kind not in (MESH_TYPE, SKELETON_TYPE, PROPERTIES_TYPE):
        return f"its info is of type {short(kind)}"
    return "it is sharded already" if info.get("sharding") is not None else ""


def _why_not_below(root: Path, below: object) -> str:
    there = isinstance(below, str) and "\0" not in below and (root / below).is_dir()
    return "it is outside the data set, or a link" if there else "there is no such folder"


def _is_below(root: Path, below: object) -> bool:
    """Return True if `below` names a folder in the data set, without `..` and links."""
    if not isinstance(below, str) or "\0" in below:
        return False
    inside = PurePosixPath(below)
    if inside.is_absolute() or Path(below).is_absolute() or ".." in inside.parts or not inside.parts:
        return False
    way = (root.joinpath(*inside.parts[: count + 1]) for count in range(len(inside.parts)))
    return all(path.is_dir() and not is_link(path) for path in way)


def _annotations(folder: Path, members: Mapping[str, Any]) -> UnshardedSet:
    described = _described(folder, members)
    parts, notes = [], []
    sharded = {space.folder for space in parse_info(members).spaces}
    for one in described:
        space = one.space()
        if space.folder in sharded:
            raise _sharded_already(folder)
        if _is_below(folder, space.folder):
            parts.append(Unsharded(folder / space.folder, one))
        else:
            # Without annotations the folder is missing; it becomes a shard without keys.
            why = "it is a link" if is_link(folder / space.folder) else ""
            why = why or f"there is no folder {folder / space.folder}"
            notes.append(f"{space.name}: {why}, so it has no objects")
    if not parts:
        raise UsageError(f"{folder} has the info of annotations, but no folders of its indices")
    return UnshardedSet(folder, parts, {"": members}, notes)


def _scale(folder: Path, root: Path, members: Mapping[str, Any], scale: Mapping[str, Any]) -> UnshardedSet:
    if scale.get("sharding") is not None:
        raise _sharded_already(folder)
    others = [str(each.get("key")) for each in _scales(members) if each is not scale]
    notes = [f"the new info contains only this scale, not {', '.join(others)}"] if others else []
    for name in FOLDER_MEMBERS:
        if isinstance(members.get(name), str) and (root / str(members[name])).is_dir():
            notes.append(f"{root / str(members[name])} is not packed with a single scale; pack it separately")
    alone = {**members, "scales": [scale]}
    return UnshardedSet(folder, [Unsharded(folder, one) for one in _described(root, alone)], {"": alone}, notes)


def _sharded_already(folder: Path) -> UsageError:
    return UsageError(f"{folder} is sharded already; use `convert` to create a new data set from it")


def _described(folder: Path, members: Mapping[str, Any], base: str = "") -> list[SpaceDescription]:
    try:
        return spaces_of(members, base)
    except UsageError as error:
        raise UsageError(f"{folder}: {error.message}") from None


def _scales(members: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    scales = members.get("scales")
    return [scale for scale in scales if isinstance(scale, Mapping)] if isinstance(scales, list) else []


def _info(folder: Path) -> Mapping[str, Any] | None:
    try:
        text = read_side_file(folder / INFO_NAME, INFO_LIMIT + 1)
        members = parse_json(text, "the info", limits=INFO_LIMITS, encoding="utf-8-sig")
    except SourceError as error:
        if isinstance(error.__cause__, (FileNotFoundError, IsADirectoryError, NotADirectoryError)):
            return None
        raise
    except FormatError:
        # A file of another format with the same name.
        return None
    return members if isinstance(members, Mapping) else None
