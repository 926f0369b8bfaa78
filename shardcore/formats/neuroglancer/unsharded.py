"""A precomputed data set of one file for each object: which object each file is, and what the info says of all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardcore.errors import FormatError, SourceError, UsageError, reason_of
from shardcore.formats.neuroglancer.described import Described, of_info
from shardcore.formats.neuroglancer.encoded_files import content_of, plain_name
from shardcore.formats.neuroglancer.info import INFO_LIMIT, INFO_LIMITS, VOLUME_TYPE, KeySpace, SpaceKind
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.number import key_number
from shardcore.formats.neuroglancer.origin import INFO_NAME, LEVELS_ABOVE
from shardcore.formats.neuroglancer.volume import box_of
from shardcore.json_text import parse_json
from shardcore.text import short
from shardcore.words import plural
from shardcore.writing.items import Item

MANIFEST = ".index"
LISTED = 3
"""Names of files that are left out, as examples."""

_CHUNK = re.compile(r"(-?[0-9]{1,19})-(-?[0-9]{1,19})_(-?[0-9]{1,19})-(-?[0-9]{1,19})_(-?[0-9]{1,19})-(-?[0-9]{1,19})")
_NUMBER = re.compile(r"[0-9]{1,20}")
_LEGACY = re.compile(r"[0-9]{1,20}:[0-9]+(:.*)?")
_LEGACY_TYPE = "neuroglancer_legacy_mesh"
_LEGACY_TEXT = "a mesh in the legacy form; only multi-resolution meshes can be sharded"


@dataclass(frozen=True, slots=True, eq=False)
class Unsharded:
    """A folder of files, one for each object, or two for a mesh.

    Attributes:
        folder: Where the files lie.
        described: What the info says, of this key space alone.
        notes: What is not taken from the data set, a sentence each.
    """

    folder: Path
    described: Described
    notes: tuple[str, ...] = ()

    def items(self) -> tuple[list[Item], tuple[str, ...]]:
        """The objects, and what is left out, a sentence each.

        Raises:
            UsageError: A file is of a form that cannot be sharded.
            SourceError: The folder cannot be listed.
        """
        names = _names(self.folder)
        if self.described.kind is SpaceKind.VOLUME:
            space = self.described.space()
            keys = {name: chunk_key(plain_name(name), space) for name in names}
            found = [(key, name) for name, key in keys.items() if key is not None]
            items = [self._item(key, name) for key, name in found]
            return items, (*self.notes, *_left_out(name for name, key in keys.items() if key is None))
        if self.described.kind is SpaceKind.MESH:
            taken, rest = pairs([(self.folder / name, name) for name in names])
            return taken, (*self.notes, *_left_out(name for _, name in rest))
        numbered = [name for name in names if _NUMBER.fullmatch(plain_name(name))]
        items = [self._item(str(key_number(plain_name(name), str(self.folder / name))), name) for name in numbered]
        return items, (*self.notes, *_left_out(name for name in names if not _NUMBER.fullmatch(plain_name(name))))

    def _item(self, key: str, name: str) -> Item:
        path = self.folder / name
        return Item(key, content_of(path), str(path), name)


def unsharded_at(folder: Path) -> Unsharded | None:
    """The data set of a folder: a root of one scale, a scale, meshes, skeletons; None where there is no info of one.

    Raises:
        UsageError: There is one that cannot be taken.
        SourceError: It cannot be read.
    """
    members = _info(folder)
    if members is not None:
        kind = members.get("@type")
        if kind == VOLUME_TYPE or (kind is None and isinstance(members.get("scales"), list)):
            return _root(folder, members)
        if kind == _LEGACY_TYPE:
            raise UsageError(f"{folder}: {_LEGACY_TEXT}")
        if not isinstance(kind, str) or not kind.startswith("neuroglancer_"):
            return None
        if members.get("sharding") is not None:
            raise UsageError(f"{folder} is sharded already: `convert` makes another data set of it")
        return Unsharded(folder, _described(folder, members))
    whole = folder.absolute()
    inside = ""
    for above in whole.parents[:LEVELS_ABOVE]:
        inside = f"{whole.relative_to(above).as_posix()}"
        members = _info(above)
        for scale in _scales(members or {}):
            if scale.get("key") == inside:
                return _scale(folder, above, members or {}, scale)
    return None


def pairs(files: Sequence[tuple[Path, str]]) -> tuple[list[Item], list[tuple[Path, str]]]:
    """Meshes out of files: `<id>.index`, the manifest, and `<id>`, its fragments; and the files that are neither.

    Raises:
        UsageError: A manifest is missing, or a mesh is in the legacy form.
    """
    named: dict[str, tuple[Path, str]] = {}
    for path, name in files:
        if named.setdefault(plain_name(name), (path, name)) != (path, name):
            raise UsageError(f"{named[plain_name(name)][0]} and {path} are the same file twice")
    items: list[Item] = []
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
            items.append(Item(key, content_of(path), str(path), name, {"fragments": fragments}))
        elif plain + MANIFEST not in named:
            raise UsageError(f"{path} has no manifest beside it, {last}{MANIFEST}")
    return items, rest


def chunk_key(name: str, space: KeySpace) -> str | None:
    """The key of the chunk with a name such as `0-64_64-128_0-30`; None where the name is another.

    Raises:
        UsageError: The volume has no such chunk.
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
        raise UsageError(f"{name} is no chunk of {space.name}: the info states another size, offset or chunk size")
    return str(encode(cell, grid))


def _root(folder: Path, members: Mapping[str, Any]) -> Unsharded:
    """The scale of a root, if it has one alone."""
    scales = _scales(members)
    there = [scale for scale in scales if (folder / str(scale.get("key"))).is_dir()]
    plain = [scale for scale in there if scale.get("sharding") is None]
    if len(plain) == 1:
        return _scale(folder / str(plain[0]["key"]), folder, members, plain[0])
    if plain:
        names = ", ".join(str(folder / str(scale["key"])) for scale in plain)
        raise UsageError(
            f"{folder} has {len(plain)} scales, each a data set of its own; give the folder of one: {names}"
        )
    if there:
        raise UsageError(f"{folder} is sharded already: `convert` makes another data set of it")
    raise UsageError(f"{folder} has an info of a volume, but none of the folders of its scales")


def _scale(folder: Path, root: Path, members: Mapping[str, Any], scale: Mapping[str, Any]) -> Unsharded:
    if scale.get("sharding") is not None:
        raise UsageError(f"{folder} is sharded already: `convert` makes another data set of it")
    others = [str(each.get("key")) for each in _scales(members) if each is not scale]
    notes = [f"the new info has this scale alone, not {', '.join(others)}"] if others else []
    for name in ("mesh", "skeletons"):
        if isinstance(members.get(name), str) and (root / str(members[name])).is_dir():
            notes.append(f"{root / str(members[name])} is a data set of its own, and is not taken: pack it by itself")
    return Unsharded(folder, _described(root, {**members, "scales": [scale]}), tuple(notes))


def _described(folder: Path, members: Mapping[str, Any]) -> Described:
    try:
        return of_info(members)
    except UsageError as error:
        raise UsageError(f"{folder}: {error.message}") from None


def _scales(members: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    scales = members.get("scales")
    return [scale for scale in scales if isinstance(scale, Mapping)] if isinstance(scales, list) else []


def _info(folder: Path) -> Mapping[str, Any] | None:
    """The info in a folder; None where there is none."""
    path = folder / INFO_NAME
    try:
        with path.open("rb") as stream:
            text = stream.read(INFO_LIMIT + 1)
        members = parse_json(text, "the info", limits=INFO_LIMITS, encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
    except OSError as error:
        raise SourceError(f"cannot read {path}: {reason_of(error)}") from error
    except FormatError:
        # A file of that name that is something else.
        return None
    return members if isinstance(members, Mapping) else None


def _names(folder: Path) -> list[str]:
    """The files of a folder, sorted; not its info, nor what is hidden."""
    try:
        names = [entry.name for entry in folder.iterdir() if entry.is_file()]
    except OSError as error:
        raise SourceError(f"cannot list {folder}: {reason_of(error)}") from error
    return sorted(name for name in names if name != INFO_NAME and not name.startswith("."))


def _left_out(names: Iterator[str]) -> tuple[str, ...]:
    """A sentence on files that are no objects; none where there are none."""
    found = list(names)
    if not found:
        return ()
    more = f", and {len(found) - LISTED:,} more" if len(found) > LISTED else ""
    names_told = ", ".join(map(short, found[:LISTED]))
    return (f"{plural(len(found), 'file')} left out, not named as an object: {names_told}{more}",)
