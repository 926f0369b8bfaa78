"""Writer of a sharded data set: its shards and its info, or a single shard file."""

from __future__ import annotations

import glob
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shardcore.dataclasses import replace
from shardcore.errors import FormatError, SourceError, UsageError
from shardcore.formats.neuroglancer.file import CODECS, sections_of
from shardcore.formats.neuroglancer.index import KEPT_WHOLE
from shardcore.formats.neuroglancer.info import BESIDE, INFO_LIMIT, PROPERTIES_TYPE, KeySpace, SpaceKind, parse_info
from shardcore.formats.neuroglancer.info_writer import (
    SpaceDescription,
    check_kind,
    describe_volume,
    info_text,
    of_info,
    of_kind,
    of_spec,
    spaces_of,
)
from shardcore.formats.neuroglancer.objects import FRAGMENTS
from shardcore.formats.neuroglancer.origin import INFO_NAME
from shardcore.formats.neuroglancer.sharding import ShardingSpec, shard_number
from shardcore.formats.neuroglancer.space_values import ShardArrangement, ShardOrder, SpaceValues, Spool, ValueColumns
from shardcore.model.keys import NUMBERS
from shardcore.model.objects import ColumnObjects, NoObjects, ObjectColumns, ObjectRef
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.model.text import plural, short
from shardcore.sources.local import read_side_file
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan, PlannedFile
from shardcore.writing.temporary import Draining, TemporaryFile
from shardcore.writing.writer import Data, More, Writer


def planned_file(name: str, shard: ShardArrangement, columns: ValueColumns, space: KeySpace) -> PlannedFile:
    # Readers do not cache a larger shard index, so fewer sections are shown.
    pairs = shard.pairs.astype(np.uint64) if shard.spec.index_size <= KEPT_WHOLE else None
    sections = sections_of(shard.spec.index_size, pairs, shard.size)
    return PlannedFile(name, shard.size, sections, _PlannedObjects(shard, columns.take(shard.rows), space))


class _PlannedObjects(ColumnObjects):
    """Planned values of a shard; rows are in the order in which they were added."""

    codecs = CODECS

    def __init__(self, shard: ShardArrangement, columns: ValueColumns, space: KeySpace) -> None:
        self._space, self._values = space, columns
        self._minishards, self._slots = shard.slots()
        self.kinds = (space.kind.object_kind,)
        # Readers sort rows by minishard; rows of a plan are in the order in which they were added.
        self._places = at = np.argsort(shard.rows, kind="stable").astype(np.int64)
        starts, stored, gzip = shard.starts[at], columns.sizes[at], space.spec.data_encoding == "gzip"
        size = -1 if gzip else stored
        made = ObjectColumns.of(np.arange(len(at)), starts, starts + stored, size, stored_size=stored, codec=int(gzip))
        super().__init__(made, lambda rows: list(map(str, columns.keys[at[rows]].tolist())))

    def ref(self, row: int) -> ObjectRef:
        found, at = super().ref(row), int(self._places[row])
        key, start = int(self._values.keys[at]), found.spans[0].start
        place = {"minishard": int(self._minishards[at]), "slot": int(self._slots[at])}
        found = replace(found, row=at, extras=place | self._space.meaning_of(key))
        if self._space.kind is not SpaceKind.MESH:
            return found
        fragments = Span("", start - int(self._values.before[at]), start)
        return replace(found, spans=(*found.spans, fragments), parts=(FRAGMENTS,))


FILE_NAME = "neuroglancer.file-name"
"""Code of the finding for a shard file that readers do not open, because no shard of the data set has its name."""
GIVEN_CONTENTS = {"neuroglancer.content", "neuroglancer.mesh", "neuroglancer.trailing"}
"""Codes of findings about the contents of values, which the writer stores unchecked."""
INDEX_BITS = 24
"""Maximum of `minishard_bits` for writing: the shard index then has 256 MiB."""


class NeuroglancerWriter(Writer):
    """Writes the values of one key space, or of several: all scales of a volume, its meshes and skeletons.

    Args:
        output: The target.
        spec: A sharding object or info; default: suggested parameters.
        order: Order of values and indices in a shard; see `ShardOrder`.
        info: Write the info, if its details are known.
        kind: Kind of the data, for the info; one of `KINDS`.
        template: Info of an unsharded data set. For several key spaces, infos by folder, that of the data set under "";
            object names then start with the folder. Infos of segment properties are copied.
        volume: `.npy` file or array whose chunks are written.
        chunk_size: Voxels per chunk of the volume.
        resolution: Nanometres per voxel of the volume.
    """

    key_form = NUMBERS

    def __init__(
        self,
        output: Output,
        *,
        spec: Any = None,
        order: str = ShardOrder.BY_MINISHARD.value,
        info: bool = True,
        kind: str | None = None,
        template: Mapping[str, Any] | None = None,
        volume: Any = None,
        chunk_size: str | None = None,
        resolution: str | None = None,
    ) -> None:
        super().__init__(output)
        self.expected |= GIVEN_CONTENTS
        given: ShardingSpec | None = None
        described = [SpaceDescription()]
        if spec is not None:
            given, one = of_spec(spec)
            described = [one]
        if volume is not None:
            described = [describe_volume(volume, chunk_size, resolution, kind)]
        elif chunk_size is not None or resolution is not None:
            raise UsageError("chunk_size and resolution require volume=FILE.npy")
        elif template is not None:
            described = _described(template, described[0])
        elif described[0].members is None and kind is not None:
            described = [of_kind(kind)]
        if volume is None and kind is not None:
            check_kind(kind, described[0])
        if given is not None and given.minishard_bits > INDEX_BITS:
            raise UsageError(f"minishard_bits is {given.minishard_bits}; the limit for writing is {INDEX_BITS}")
        if len(described) > 1 and not (output.folder and info):
            raise UsageError(f"{plural(len(described), 'key space')} require a folder as output, with its info")
        # Opened before the temporary files, because its lock shows that the process is alive.
        self._single: Draining | None = None if output.folder else output.open()
        self._infos: dict[str, Draining] = {}
        self._with_info = info
        with_info = info and described[0].members is not None
        if with_info:
            # The info is written last, but opened first, so that an existing info is reported early.
            for base in sorted({one.base for one in described}, key=lambda base: (base == "", base)):
                self._infos[base] = output.open(f"{base}/{INFO_NAME}" if base else INFO_NAME, last=True)
        self._properties = _properties(template) if with_info and output.folder else {}
        for base, text in self._properties.items():
            file = output.open(f"{base}/{INFO_NAME}", last=True)
            file.write(text)
        self._replaced = _shard_folders(output) if with_info else ()
        self._values: dict[str, SpaceValues] = {}
        for one in described:
            single, among = self._single is not None, len(described)
            # The given parameters are those of the scales; meshes and skeletons get suggested ones.
            found = SpaceValues(output, one, None if one.base else given, ShardOrder(order), single=single, among=among)
            folder = one.folder(found.space)
            if folder in self._values:
                raise UsageError(f"the info names the folder {folder or '.'} twice")
            self._values[folder] = found

    @property
    def spool(self) -> Spool:
        return self._first.spool

    @property
    def _first(self) -> SpaceValues:
        return next(iter(self._values.values()))

    @property
    def opening(self) -> Mapping[str, Any]:
        if self._infos:
            return {}
        return {"spec": json.dumps(self._first.described.spec_option(self._first.suggested()))}

    def _add(self, key: str | None, data: Data, more: More) -> str:
        values = self._first
        if len(self._values) > 1:
            folder = more.name.rpartition("/")[0]
            if folder not in self._values:
                named = ", ".join(one or "." for one in self._values)
                raise UsageError(f"{more.label or 'the object'}: its name matches no key space: {named}")
            values = self._values[folder]
        found = values.add(key, data, more)
        self.exact = self.exact and values.exact
        return found

    def _add_many(self, keys: Sequence[str] | None, contents: Sequence[bytes]) -> Sequence[str]:
        if keys is None or len(self._values) > 1 or not self._first.takes_many(contents):
            return super()._add_many(keys, contents)
        return self._first.add_many(keys, contents)

    def plan(self) -> Plan:
        files: list[PlannedFile] = []
        for folder, values in self._written().items():
            spec, shards = self._arrangement(values)
            columns, space = values.columns(), values.described.space(spec)
            files += [planned_file(self._name(folder, shard), shard, columns, space) for shard in shards]
        texts = self._properties | {base: self._info_text(base) for base in self._infos}
        for base, text in texts.items():
            section = Section(
                INFO_NAME, SectionRole.METADATA, 0, len(text), "Description of the data set and its sharding."
            )
            name = f"{base}/{INFO_NAME}" if base else INFO_NAME
            files.append(PlannedFile(name, len(text), (section,), NoObjects()))
        return Plan(tuple(files), self.exact, sum(values.content for values in self._values.values()))

    def _complete(self) -> None:
        begun = False
        if self._replaced:
            # Shards of the old info's key spaces that are not written again are removed.
            folders = dict.fromkeys([*self._replaced, *self._values])
            self.output.replaces += tuple(f"{glob.escape(one)}/*.shard" if one else "*.shard" for one in folders)
        if len(self._values) > 1:
            self.folders = tuple(self._written())
        for folder, values in self._written().items():
            _, shards = self._arrangement(values)
            bounds = values.bounds()
            for shard in shards:
                file = self._single if self._single is not None else self.output.open(self._name(folder, shard))
                alone = self._single is None and not self._infos
                if alone and not begun and values.spool.spilled and isinstance(file, TemporaryFile):
                    # The spool, whose lock shows that the process is alive, is about to be removed.
                    file.hold()
                begun = True
                values.write(file, shard, bounds)
                file.complete(len(shard.rows))
            values.spool.drop()
        for base, file in self._infos.items():
            file.write(self._info_text(base))
            file.complete()
        if not self._infos and self._with_info and self._first.why:
            self.notes += ("no info is written, because the kind of data is unknown; pass -O kind= or an info",)

    def _written(self) -> dict[str, SpaceValues]:
        """Return the key spaces for which shards are written: those with values, or all if none has values."""
        return {folder: values for folder, values in self._values.items() if len(values)} or self._values

    def _arrangement(self, values: SpaceValues) -> tuple[ShardingSpec, list[ShardArrangement]]:
        spec, shards = values.arrangement()
        if self._single is not None:
            self._check_single(spec, shards)
        several = len(self._values) > 1
        suggestions = ((values.space.name, values.why) for values in self._values.values() if values.why)
        self.notes = tuple(f"{name}: {why}" if several else why for name, why in suggestions)
        return spec, shards

    def _check_single(self, spec: ShardingSpec, shards: list[ShardArrangement]) -> None:
        """Raise UsageError if readers would search the keys in other files than the single file written."""
        if len(shards) > 1:
            raise UsageError(
                f"the keys belong in {plural(len(shards), 'shard')}; pass a folder as output: a name that ends with /"
            )
        target = self.output.target
        if target is None or shard_number(target.name) is None:
            return
        if (number := spec.shard_of(target.name)) is None:
            # Verification reports the file name that the user chose.
            self.expected.add(FILE_NAME)
        elif number != shards[0].number and len(self._first):
            raise UsageError(f"the keys belong in {spec.shard_name(shards[0].number)}, not in {short(target)}")

    def _info_text(self, base: str) -> bytes:
        here = [values for values in self._values.values() if values.described.base == base]
        written = [(values.described, values.arrangement()[0]) for values in here]
        return info_text(written, beside=self._single is not None)

    def _name(self, folder: str, shard: ShardArrangement) -> str:
        if self._single is not None:
            return self.output.target.name if self.output.target is not None else ""
        name = shard.spec.shard_name(shard.number)
        return f"{folder}/{name}" if folder and self._infos else name


def _described(template: Mapping[str, Any], stated: SpaceDescription) -> list[SpaceDescription]:
    if "" in template:
        bases = {base: members for base, members in template.items() if members.get("@type") != PROPERTIES_TYPE}
        found = [one for base, members in bases.items() for one in spaces_of(members, base)]
    else:
        found = [of_info(template)]
    if stated.members is None:
        return found
    if len(found) > 1:
        raise UsageError(
            f"spec is the info of one key space, but there are {len(found)}; pass only the sharding object"
        )
    return [stated]


def _properties(template: Mapping[str, Any] | None) -> dict[str, bytes]:
    infos = (template or {}).items() if "" in (template or {}) else ()
    return {
        base: json.dumps(members).encode() + b"\n" for base, members in infos if members.get("@type") == PROPERTIES_TYPE
    }


def _shard_folders(output: Output) -> tuple[str, ...]:
    """Return "" (the target) and the folders named by the info that is replaced; empty if nothing is replaced."""
    if output.target is None or output.planning or not (output.force and output.folder):
        return ()
    try:
        text = read_side_file(output.target / INFO_NAME, INFO_LIMIT)
        folders = (space.folder for space in parse_info(text).spaces)
        return ("", *(folder for folder in folders if not folder.startswith(BESIDE)))
    except (SourceError, FormatError):
        return ("",)
