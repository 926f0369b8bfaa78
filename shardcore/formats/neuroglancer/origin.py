"""Origin of a sharding specification: from the user, from an `info` in or above the folder, or inferred from bytes."""

from __future__ import annotations

import functools
import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from shardcore.codecs.json_text import parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, LimitExceeded, NotAShard, SourceError, UsageError, raise_unless_absent
from shardcore.formats.neuroglancer.inference import Inference, infer
from shardcore.formats.neuroglancer.info import (
    BESIDE,
    INFO_LIMIT,
    INFO_LIMITS,
    Info,
    KeySpace,
    SpaceKind,
    info_members,
    parse_info,
    type_of,
    unnamed_space,
)
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.model.record import Value
from shardcore.model.span import Span
from shardcore.sources.base import Folder, Source
from shardcore.sources.local import FileSource
from shardcore.sources.prefetched_source import PrefetchedSource

INFO_NAME = "info"
_INFO_NOTE = "neuroglancer info"
_INFERENCE_NOTE = "neuroglancer inference"
MOST_CHOICES = 50
"""Maximum number of key spaces or reasons listed in one sentence."""
_OF_SHARDING = ("hash", "minishard_bits")
"""Members that identify a sharding object."""

LEVELS_ABOVE = 2
"""Number of parent folders of a shard in which the info is searched; folder names in an info may have several parts."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A key space (one set of keys with its own shards) and the origin of its sharding specification.

    `why` describes the origin, such as `info in the same folder, skeletons`. `text` is the info (empty if inferred),
    `place` the sharding object in it. `others` has one sentence per unusable key space of the same info.
    """

    space: KeySpace
    why: str
    text: bytes = b""
    place: Span | None = None
    others: tuple[str, ...] = ()
    inference: Inference | None = None
    sharding: Mapping[str, Any] | None = None

    @property
    def spec(self) -> ShardingSpec:
        return self.space.spec

    @property
    def parameters(self) -> str:
        return json.dumps(self.spec.to_json(), indent=2)

    @property
    def written_with(self) -> str:
        """The info as JSON text, reduced to this key space; for annotations or without an info, the specification."""
        if self.space.kind not in (SpaceKind.VOLUME, SpaceKind.MESH, SpaceKind.SKELETON) or not self.text:
            return self.parameters
        members = info_members(self.text)
        if self.space.kind is SpaceKind.VOLUME:
            here = self.space.folder or "."
            scales = [one for one in members["scales"] if posixpath.normpath(str(one.get("key") or ".")) == here]
            members = {**members, "scales": [{**one, "key": here.removeprefix(BESIDE)} for one in scales[:1]]}
        return json.dumps(members)

    @property
    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {"spec": json.loads(self.written_with)}
        if self.text and self.space.kind is not SpaceKind.UNKNOWN:
            members = info_members(self.text)
            if found["spec"].get("@type") != members.get("@type"):
                found["info"] = members
            info = parse_info(self.text)
            others = {each.folder or ".": each.name for each in info.key_spaces if each != self.space}
            found |= {"key_spaces": others} if others else {}
        return found

    def fields_at(self, *names: str) -> tuple[Span, ...]:
        """Return the spans of members in the sharding object; the whole object for a missing member."""
        if self.place is None:
            return ()
        text, found = self.text[self.place.start : self.place.stop], list[Span]()
        for name in names:
            member = re.search(rb'"' + name.encode() + rb'"\s*:\s*("[^"]*"|[^\s,}]+)', text)
            start, stop = member.span() if member is not None else (0, len(text))
            found.append(Span(self.place.source, self.place.start + start, self.place.start + stop))
        return tuple(dict.fromkeys(found))

    @property
    def evidence(self) -> tuple[str, ...]:
        return self.inference.evidence() if self.inference is not None else ()

    @property
    def ambiguity(self) -> tuple[str, ...]:
        best = self.inference.best if self.inference is not None else None
        return best.ambiguity() if best is not None else ()

    @property
    def fields(self) -> dict[str, Value]:
        found: dict[str, Value] = {f"spec.{name}": v for name, v in self.spec.to_json().items() if name != "@type"}
        found |= {"spec.origin": self.why, "space.kind": self.space.kind.value, "space.name": self.space.name}
        if self.space.grid is not None:
            found["space.grid"] = ",".join(map(str, self.space.grid))
        if self.inference is not None:
            found["spec.evidence"] = "; ".join(self.evidence)
            found["spec.open"] = "; ".join(self.ambiguity)
        return found


@dataclass(frozen=True, slots=True)
class FoundInfo:
    """An info and the folder of the shards relative to it (empty for the same folder)."""

    info: Info
    text: bytes
    folder: str

    @property
    def where(self) -> str:
        return "info in a parent folder" if self.folder else "info in the same folder"

    @property
    def space(self) -> KeySpace | None:
        """Key space whose shards or object files are in the opened folder; None if the info describes none for it."""
        return next((space for space in self.info.key_spaces if space.folder == self.folder), None)

    def origin(self, space: KeySpace) -> Origin:
        return origin_from(space, self.info, self.text, f"{self.where}, {space.name}")


def info_of(source: PrefetchedSource) -> FoundInfo | None:
    """Return the info in or above the folder of a shard, or None; detection and opening share one request."""
    if _INFO_NOTE not in source.notes:
        source.notes[_INFO_NOTE] = find_info(source.folder) if source.folder is not None else None
    found = source.notes[_INFO_NOTE]
    return found if isinstance(found, FoundInfo) else None


def inference_of(source: PrefetchedSource, shard: Source, index_size: int | None) -> Inference:
    known = source.notes.get(_INFERENCE_NOTE)
    if not isinstance(known, Inference):
        known = source.notes[_INFERENCE_NOTE] = infer(shard, source.name, _siblings(source), index_size)
    return known


def origin_of(
    source: PrefetchedSource, shard: Source, spec: Any, *, forced: bool, index_size: int | None = None
) -> Origin:
    """Return the key space of a shard; with `forced`, an inferred specification may fail some checks.

    Raises:
        UsageError: `spec` is neither a sharding object nor an info, or it does not describe exactly one key space.
        NotAShard: There is no info, and the bytes fit no specification.
    """
    folder_name = source.folder.name if source.folder is not None else ""
    if spec is not None:
        return given_origin(spec, folder_name)
    found = info_of(source)
    if found is not None and (space := found.info.space_of(found.folder)) is not None:
        return found.origin(space)
    inference = inference_of(source, shard, index_size)
    best, useless = inference.best, useless_info(source.folder)
    if best is None or not (inference.certain or forced):
        raise NotAShard(
            f"{source.name}: no usable info, and the bytes fit no sharding specification",
            candidates=(*useless, *inference.evidence()),
        )
    kind = SpaceKind.MESH if best.meshes else SpaceKind.UNKNOWN
    return Origin(KeySpace(kind, "keys", "", best.spec), inference.why, others=useless, inference=inference)


def given_origin(spec: Any, folder_name: str = "") -> Origin:
    """Return the key space that `spec` describes: a sharding object or an info, as JSON text, mapping or path.

    If an info has several key spaces, the one in `folder_name` is used. Raises UsageError if there is not exactly one.
    """
    text, members = _given(spec)
    of_sharding = any(name in members for name in _OF_SHARDING)
    if type_of(members) is None and not of_sharding:
        raise UsageError("the given specification is neither a sharding object nor an info")
    try:
        info = Info("", (unnamed_space(members),), ()) if of_sharding else parse_info(members)
    except FormatError as error:
        raise UsageError(f"the given specification cannot be used: {error.message}") from error
    spaces = [space for space in info.spaces if space.folder.rsplit("/", 1)[-1] == folder_name] or list(info.spaces)
    if len(spaces) != 1:
        others = (*info.others, *(f"{space.name}: not sharded" for space in info.files))
        choices = [(space.folder, space.name) for space in info.spaces]
        raise UsageError(choices_text("the given specification", choices, others))
    return origin_from(spaces[0], info, text, f"given specification, {spaces[0].name}")


def find_info(folder: Folder, *, any_space: bool = False) -> FoundInfo | None:
    """Return the info, in `folder` or up to `LEVELS_ABOVE` above it, that describes the shards in `folder`, or None.

    With `any_space`, an info in the folder itself may describe subfolders, and any info may describe object files.
    """
    inside: list[str] = []
    at: Folder | None = folder
    for _ in range(LEVELS_ABOVE + 1):
        if at is None:
            return None
        below = "/".join(inside)
        with suppress(FormatError):
            found = info_in(at, below)
            if found is not None and (found.info.space_of(below) or (any_space and (not inside or found.space))):
                return found
        inside.insert(0, at.name)
        at = at.parent()
    return None


def info_in(folder: Folder, below: str = "") -> FoundInfo | None:
    """Return the info in a folder, for the shards in its subfolder `below`; None if it is missing or too large.

    Raises FormatError if the info cannot be parsed.
    """
    try:
        text = folder.read(INFO_NAME, INFO_LIMIT)
    except LimitExceeded:
        return None
    except SourceError as error:
        raise_unless_absent(error)
        return None
    return FoundInfo(parse_info(text), text, below)


def useless_info(folder: Folder | None) -> tuple[str, ...]:
    try:
        found = info_in(folder) if folder is not None else None
    except FormatError as error:
        return (f"the info in the same folder: {error.message}",)
    return (found.info.others or ("the info has no key space in this folder",)) if found is not None else ()


def choices_text(what: str, choices: Sequence[tuple[str, str]], others: Sequence[str]) -> str:
    if not choices:
        return f"{what} has no usable key space: {reasons_text(others) or 'none is listed'}"
    listed = ", ".join(f"{folder or '.'} ({name})" for folder, name in choices[:MOST_CHOICES])
    if len(choices) > MOST_CHOICES:
        listed += f", and {len(choices) - MOST_CHOICES} more"
    return f"{what} has {len(choices)} key spaces; choose one by its folder: {listed}"


def reasons_text(reasons: Sequence[str]) -> str:
    more = [f"and {len(reasons) - MOST_CHOICES} more"] if len(reasons) > MOST_CHOICES else []
    return "; ".join([*reasons[:MOST_CHOICES], *more])


def origin_from(space: KeySpace, info: Info, text: bytes, why: str) -> Origin:
    if not space.sharded:
        return Origin(space, why, text, others=info.others)
    place, sharding = _sharding_places(text).get(space.spec, (Span(INFO_NAME, 0, len(text)), None))
    return Origin(space, why, text, place, info.others, sharding=sharding)


@functools.lru_cache(maxsize=1)
def _sharding_places(text: bytes) -> Mapping[ShardingSpec, tuple[Span, Mapping[str, Any]]]:
    """Return, for each specification in an info, the span and value of its first sharding object; O(n), cached."""
    whole = text.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    found: dict[ShardingSpec, tuple[Span, Mapping[str, Any]]] = {}
    seen = at = at_byte = 0
    for match in re.finditer(r'"sharding"\s*:\s*(?=\{)|^\s*(?=\{)', whole):
        if match.end() < seen:
            continue
        try:
            value, stop = decoder.raw_decode(whole, match.end())
            seen = stop if match.start() else 0
            spec = ShardingSpec.parse(value)
        except (ValueError, RecursionError, FormatError):
            continue
        if spec not in found:
            at_byte += len(whole[at : match.end()].encode())
            at = match.end()
            found[spec] = Span(INFO_NAME, at_byte, at_byte + len(whole[at:stop].encode())), value
    return found


def _given(spec: Any) -> tuple[bytes, Mapping[str, Any]]:
    if isinstance(spec, ShardingSpec):
        spec = spec.to_json()
    if isinstance(spec, Mapping):
        try:
            return json.dumps(spec, indent=1).encode(), spec
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"the given specification is not JSON: {error}") from error
    if isinstance(spec, (str, bytes)) and spec.lstrip()[:1] in ("{", "[", b"{", b"["):
        text = spec.encode() if isinstance(spec, str) else spec
    elif isinstance(spec, (str, Path)):
        path = Path(spec)
        inside = path.is_dir()
        with FileSource(path / INFO_NAME if inside else path, follow_links=not inside) as source:
            if source.size > INFO_LIMIT:
                raise UsageError(f"{spec} has {source.size:,} bytes; the limit for a specification is {INFO_LIMIT:,}")
            text = source.read(0, source.size)
    else:
        raise UsageError(f"a specification must be JSON text, a mapping or a file, not {type(spec).__name__}")
    try:
        members = parse_json(text, "the given specification", limits=INFO_LIMITS, encoding="utf-8-sig")
    except FormatError as error:
        raise UsageError(error.message) from error
    if not isinstance(members, Mapping):
        raise UsageError("the given specification is not a JSON object")
    return text, members


def _siblings(source: Source) -> list[str]:
    if source.folder is None:
        return []
    try:
        return [entry.name for entry in source.folder.list() if not entry.is_folder and entry.name != source.name]
    except SourceError as error:
        raise_unless_absent(error)
        return []
