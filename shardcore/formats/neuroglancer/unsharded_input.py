"""Unsharded data sets as inputs: their files, infos and keys."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from shardcore.codecs.json_text import parse_json
from shardcore.errors import FormatError, SourceError, UsageError
from shardcore.formats.neuroglancer.chunks import box_of
from shardcore.formats.neuroglancer.compressed_files import content_of, plain_name
from shardcore.formats.neuroglancer.find_spec import INFO_NAME, LEVELS_ABOVE
from shardcore.formats.neuroglancer.info import (
    ANNOTATION_TYPE,
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
from shardcore.formats.neuroglancer.info_writer import SpaceDescription, spaces_of
from shardcore.formats.neuroglancer.keys import key_number
from shardcore.formats.neuroglancer.morton import encode
from shardcore.model.number_text import plural
from shardcore.model.safe_text import short
from shardcore.sources.local import read_side_file
from shardcore.system import is_link
from shardcore.writing.inputs import InputItem, LeftOut, input_files

MANIFEST = ".index"
LISTED = 3
"""Number of skipped files named as examples."""

_CHUNK = re.compile(r"(-?[0-9]{1,19})-(-?[0-9]{1,19})_(-?[0-9]{1,19})-(-?[0-9]{1,19})_(-?[0-9]{1,19})-(-?[0-9]{1,19})")
_CELL = re.compile(r"[0-9]{1,19}")
_NUMBER = re.compile(r"[0-9]{1,20}")
_LEGACY = re.compile(r"[0-9]{1,20}:[0-9]+(:.*)?")
_LEGACY_TYPE = "neuroglancer_legacy_mesh"
_LEGACY_TEXT = "a mesh in the legacy form; only multi-resolution meshes can be sharded"


@dataclass(frozen=True, slots=True, eq=False)
class Unsharded:
    """A folder with one file per object, or two per mesh."""

    folder: Path
    described: SpaceDescription

    def items(self, above: str = "") -> tuple[list[InputItem], tuple[str, ...]]:
        """Return the objects, and notes on files left out; the names of the objects start with `above`."""
        names, links = _names(self.folder)
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
    """Data set with one or more key spaces; `infos` maps folders to infos, "" to that of the data set."""

    folder: Path
    parts: tuple[Unsharded, ...]
    infos: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...] = ()

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
    """Return the data set in a folder: a whole volume, a scale, meshes, skeletons or annotations; None without an info.

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
        return _set(folder, [(folder, one) for one in _described(folder, members)], {"": members}, [])
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


def chunk_key(name: str, space: KeySpace) -> str | None:
    """Return the key of a chunk file such as `0-64_64-128_0-30`, None for other names.

    Raises UsageError if the volume has no such chunk.
    """
    match = _CHUNK.fullmatch(name)
    scale, grid = space.scale, space.grid
    if match is None or scale is None or grid is None:
        return None
    numbers = [int(number) for number in match.groups()]
    begin, end = tuple(numbers[::2]), tuple(numbers[1::2])
    steps = zip(begin, scale.voxel_offset, scale.chunk_size, strict=True)
    cell = tuple((at - offset) // step for at, offset, step in steps)
    inside = all(0 <= at < length for at, length in zip(cell, grid, strict=True))
    if not inside or box_of(scale, cell).begin != begin or box_of(scale, cell).end != end:
        raise UsageError(f"{name} is not a chunk of {space.name}: size, offset or chunk size in the info differ")
    return str(encode(cell, grid))


def cell_key(name: str, space: KeySpace) -> str | None:
    """Return the key of a cell file such as `1_0_2`, None for other names; raise UsageError outside the grid."""
    parts, grid = name.split("_"), space.grid or ()
    if len(parts) != len(grid) or not all(_CELL.fullmatch(part) for part in parts):
        return None
    cell = tuple(map(int, parts))
    if any(at >= length for at, length in zip(cell, grid, strict=True)):
        raise UsageError(f"{name} is not a cell of {space.name}: its grid is {', '.join(map(str, grid))}")
    return str(encode(cell, grid))


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
        (folder / str(scale["key"]), described)
        for scale, described in zip(plain, _described(folder, taken), strict=True)
    ]
    infos: dict[str, Mapping[str, Any]] = {"": taken}
    for name in ("mesh", "skeletons", "segment_properties"):
        below = members.get(name)
        if not isinstance(below, str) or not (folder / below).is_dir():
            continue
        if not _is_below(folder, below):
            notes.append(f"{below} is left out: {_why_not_below(folder, below)}")
            continue
        why, inner = _along(folder, below)
        if inner is None:
            notes.append(f"{folder / below} is left out: {why}; the new info refers to it, so copy it manually")
            continue
        infos[below] = inner
        if inner.get("@type") == PROPERTIES_TYPE:
            continue
        parts += [(folder / below, described) for described in _described(folder / below, inner, below)]
    return _set(folder, parts, infos, notes)


def _along(root: Path, below: str) -> tuple[str, Mapping[str, Any] | None]:
    members = _info(root / below)
    if members is None:
        return "it has no readable info", None
    kind = members.get("@type")
    if kind == _LEGACY_TYPE:
        return _LEGACY_TEXT, None
    if kind not in (MESH_TYPE, SKELETON_TYPE, PROPERTIES_TYPE):
        return f"its info is of type {short(kind)}", None
    if members.get("sharding") is not None:
        return "it is sharded already", None
    return "", members


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
            parts.append((folder / space.folder, one))
        else:
            # Without annotations the folder is missing; it becomes a shard without keys.
            why = "it is a link" if is_link(folder / space.folder) else ""
            why = why or f"there is no folder {folder / space.folder}"
            notes.append(f"{space.name}: {why}, so it has no objects")
    if not parts:
        raise UsageError(f"{folder} has the info of annotations, but no folders of its indices")
    return _set(folder, parts, {"": members}, notes)


def _scale(folder: Path, root: Path, members: Mapping[str, Any], scale: Mapping[str, Any]) -> UnshardedSet:
    if scale.get("sharding") is not None:
        raise _sharded_already(folder)
    others = [str(each.get("key")) for each in _scales(members) if each is not scale]
    notes = [f"the new info contains only this scale, not {', '.join(others)}"] if others else []
    for name in ("mesh", "skeletons"):
        if isinstance(members.get(name), str) and (root / str(members[name])).is_dir():
            notes.append(f"{root / str(members[name])} is not packed with a single scale; pack it separately")
    alone = {**members, "scales": [scale]}
    return _set(folder, [(folder, one) for one in _described(root, alone)], {"": alone}, notes)


def _set(
    folder: Path,
    parts: Sequence[tuple[Path, SpaceDescription]],
    infos: Mapping[str, Mapping[str, Any]],
    notes: Sequence[str],
) -> UnshardedSet:
    return UnshardedSet(folder, tuple(Unsharded(where, described) for where, described in parts), infos, tuple(notes))


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


def _names(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    left_out = LeftOut()
    names = [path.name for path, _ in input_files([folder], left_out, deep=False)]
    notes = tuple(f"{folder}: {note}" for note in left_out.notes())
    return [name for name in names if name != INFO_NAME and not name.startswith(".")], notes
