"""Writing shards: the inverse of the reader, from the same layout."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from shardcore.errors import UsageError
from shardcore.formats.neuroglancer.arranged import ArrangedShard, Columns, Order, Rows, arranged
from shardcore.formats.neuroglancer.described import Described, check_kind, of_info, of_kind, of_spec
from shardcore.formats.neuroglancer.incoming import checked_manifest, first_of
from shardcore.formats.neuroglancer.info import KeySpace, SpaceKind
from shardcore.formats.neuroglancer.members import WHOLE, gzip_member, gzip_stream
from shardcore.formats.neuroglancer.morton import decode_many
from shardcore.formats.neuroglancer.number import key_number, key_numbers
from shardcore.formats.neuroglancer.origin import INFO_NAME
from shardcore.formats.neuroglancer.planned import planned_file
from shardcore.formats.neuroglancer.sharding import Keys, ShardingSpec, shard_number
from shardcore.formats.neuroglancer.spool import Spool
from shardcore.formats.neuroglancer.suggested import COMPRESSED, for_grid, for_ids
from shardcore.formats.neuroglancer.volume import DATA_TYPES
from shardcore.formats.neuroglancer.voxels import described_volume
from shardcore.nodes.sections import Section, SectionRole
from shardcore.objects import NoObjects
from shardcore.text import short
from shardcore.words import plural
from shardcore.writing.columns import Labels
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan, PlannedFile, WrittenFile
from shardcore.writing.temporary import Draining, TemporaryFile
from shardcore.writing.writer import Data, More, Sized, Writer, pieces_of

FRAGMENTS = "fragments"
FILE_NAME = "neuroglancer.file-name"
"""The finding where no key leads to a file of that name."""
INDEX_BITS = 24
"""Minishard bits that are written at most: a shard index of 256 MiB."""
MEMBER_SIZE = 20
"""Bytes of a gzip member with nothing in it: what is added to the size of content that is not known."""
JOINED = 1 << 14
"""Values that are compressed before they are put into the spool together."""


class NeuroglancerWriter(Writer):
    """Writes values by the numbers that are their keys, in any order; where they go is known when all are there.

    Args:
        output: Where to write.
        spec: The sharding object, or the info of the data set; without it the parameters are suggested.
        order: What follows what in a shard; see `Order`.
        info: Whether the info is written, where enough is known for one.
        kind: What the keys are; see `KINDS`.
        template: The info of a data set that is not sharded (yet).
        volume: The array whose chunks are written.
        chunk_size: Voxels of its chunks.
        resolution: Nanometres of its voxels.

    Attributes:
        spool: The values until their places are known.
    """

    def __init__(
        self,
        output: Output,
        *,
        spec: Any = None,
        order: str = Order.BY_MINISHARD.value,
        info: bool = True,
        kind: str | None = None,
        template: Mapping[str, Any] | None = None,
        volume: str | None = None,
        chunk_size: str | None = None,
        resolution: str | None = None,
    ) -> None:
        super().__init__(output)
        self._order = Order(order)
        self._with_info = info
        self._spec: ShardingSpec | None = None
        said = Described()
        if spec is not None:
            self._spec, said = of_spec(spec)
        if volume is not None:
            said = described_volume(volume, chunk_size, resolution, kind)
        elif chunk_size is not None or resolution is not None:
            raise UsageError("chunk_size and resolution are of a volume: give volume=FILE.npy")
        elif said.members is None and template is not None:
            said = of_info(template)
        elif said.members is None and kind is not None:
            said = of_kind(kind)
        if volume is None and kind is not None:
            check_kind(kind, said)
        self._said = said
        self._space = said.space()
        if self._spec is not None and self._spec.minishard_bits > INDEX_BITS:
            raise UsageError(f"minishard_bits {self._spec.minishard_bits}: at most {INDEX_BITS} are written")
        # The file has to be begun before the temporary one: it says that the run is alive.
        self._single: Draining | None = None if output.folder else output.open()
        self._info: Draining | None = None
        self._begin_info()
        self.spool = Spool(output)
        self._keys = array("Q")
        self._before = array("q")
        self._sizes = array("q")
        self._content = 0
        self._labels = Labels()
        self._gzip: bool | None = None
        self._made: tuple[int, ShardingSpec, list[ArrangedShard]] | None = None

    @property
    def is_mesh(self) -> bool:
        """Whether values are mesh manifests."""
        return self._said.kind is SpaceKind.MESH

    def _add(self, key: str | None, data: Data, more: More) -> str:
        who = more.label or f"object {key}"
        if key is None:
            raise UsageError(f"{more.label or 'the object'} has no key: give one")
        number = key_number(key, more.label)
        fragments = more.parts.get(FRAGMENTS)
        if fragments is not None and not self.is_mesh:
            self._become_mesh(who)
        offset = self.spool.at
        try:
            before = self._copy(fragments, who) if fragments is not None else 0
            content, stored = self._add_value(data, before, who)
        except BaseException:
            # Whoever goes on after an input that failed gets a sound data set.
            self.spool.rewind(offset)
            raise
        self._labels.note(len(self._keys), more.label)
        self._keys.append(number)
        self._before.append(before)
        self._sizes.append(stored)
        self._content += before + content
        return str(number)

    def _add_many(self, keys: Sequence[str] | None, contents: Sequence[bytes]) -> list[str]:
        """Adds many small values with few calls."""
        if keys is None or self.is_mesh or max(map(len, contents), default=0) > WHOLE:
            return super()._add_many(keys, contents)
        numbers = key_numbers(keys)
        for first in range(0, len(contents), JOINED):
            part = contents[first : first + JOINED]
            stored = list(map(gzip_member, part)) if self._compressed else part
            self.spool.write(b"".join(stored))
            self._sizes.extend(map(len, stored))
        self._content += sum(map(len, contents))
        self._keys.frombytes(numbers.tobytes())
        self._before.frombytes(bytes(8 * len(contents)))
        return list(map(str, numbers.tolist()))

    @property
    def _compressed(self) -> bool:
        """Whether values are gzip members; fixed when the first one comes."""
        if self._gzip is None:
            encoding = self._space.scale.encoding if self._space.scale is not None else ""
            # Readers do not agree on meshes whose manifests are compressed.
            suggested = not self.is_mesh and encoding not in COMPRESSED
            self._gzip = self._spec.data_encoding == "gzip" if self._spec is not None else suggested
        return self._gzip

    def _become_mesh(self, who: str) -> None:
        """Fragments say that the values are meshes, where nothing else was said; that is not enough for an info."""
        if self._said.kind is not SpaceKind.UNKNOWN or self._keys:
            raise UsageError(f"{who} has fragments, which are parts of meshes: give kind=mesh")
        self._said = Described(SpaceKind.MESH)
        self._space = self._said.space()

    def _begin_info(self) -> None:
        """Begins the info, which appears last; where there is one already, that is known before much is done."""
        if self._with_info and self._said.members is not None:
            self._info = self.output.open(INFO_NAME, last=True)

    def _add_value(self, data: Data, fragments: int, who: str) -> tuple[int, int]:
        """Spools one value; returns the bytes of its content and those stored."""
        if isinstance(data, Sized) and self.output.planning:
            stored = data.size + (MEMBER_SIZE if self._compressed else 0)
            self.exact = self.exact and not self._compressed
            self.spool.skip(stored)
            return data.size, stored
        if self.is_mesh:
            data = checked_manifest(data, fragments, who)
        if not self._compressed:
            size = self._copy(data, who)
            return size, size
        begun = self.spool.at
        head, rest = first_of(data, who)
        if rest is None:
            self.spool.write(gzip_member(head))
            return len(head), self.spool.at - begun
        size = gzip_stream(chain((head,), rest), self.spool.write)
        return size, self.spool.at - begun

    def _copy(self, data: Data, who: str) -> int:
        """Spools bytes as they are; returns how many."""
        begun = self.spool.at
        if isinstance(data, Sized) and self.output.planning:
            self.spool.skip(data.size)
        else:
            for piece in pieces_of(data, who):
                self.spool.write(piece)
        return self.spool.at - begun

    def plan(self) -> Plan:
        """The data set as it would be written with the values added so far.

        Raises:
            UsageError: Two values have one key, or the keys do not fit one file.
        """
        spec, shards = self._arrangement()
        columns, space = self._columns(), self._said_space(spec)
        files = [planned_file(self._name(shard), shard, columns, space) for shard in shards]
        if self._info is not None:
            text = self._info_text(spec)
            section = Section(
                INFO_NAME, SectionRole.METADATA, 0, len(text), "What the data set is, and how keys are sharded."
            )
            files.append(PlannedFile(INFO_NAME, len(text), (section,), NoObjects()))
        return Plan(tuple(files), self.exact, self._content)

    def finish(self) -> tuple[WrittenFile, ...]:
        """See `Writer.finish`; of a volume, the shards that the new ones replace lie in the folder of the scale."""
        written = super().finish()
        target, folder = self.output.target, self._space.folder
        if target is not None and self.output.folder and self.output.force and self._info is not None and folder:
            kept = {file.path for file in written}
            others = [path for path in sorted((target / folder).glob("*.shard")) if path not in kept]
            for path in others:
                with suppress(OSError):
                    path.unlink()
            self.output.removed += tuple(path for path in others if not path.exists())
        return written

    def _complete(self) -> None:
        spec, shards = self._arrangement()
        columns = self._columns()
        stops = np.cumsum(columns.before + columns.sizes)
        starts = stops - columns.before - columns.sizes
        for number, shard in enumerate(shards):
            file = self._single if self._single is not None else self.output.open(self._name(shard))
            alone = self._single is None and self._info is None
            if alone and not number and self.spool.spilled and isinstance(file, TemporaryFile):
                # The temporary file of the values, which tells others that this run is alive, goes.
                file.hold()
            self._write(file, shard, starts, stops)
            file.complete(len(shard.rows))
        self.spool.drop()
        if self._info is not None:
            self._info.write(self._info_text(spec))
            self._info.complete()
        else:
            self.opening = {"spec": json.dumps(self._said.told(spec))}

    def _write(self, file: Draining, shard: ArrangedShard, starts: Rows, stops: Rows) -> None:
        """Writes one shard.

        Args:
            file: Where.
            shard: What goes where.
            starts: Where the stored bytes of each value, with what lies before it, begin in the spool.
            stops: Where they end.
        """
        file.write(shard.head())
        if shard.order is Order.INDICES_LAST:
            for piece in self.spool.pieces(starts[shard.rows], stops[shard.rows]):
                file.write(piece)
            for index in shard.indices:
                file.write(index)
            return
        for at, index in enumerate(shard.indices):
            rows = shard.rows[shard.bounds[at] : shard.bounds[at + 1]]
            for piece in self.spool.pieces(starts[rows], stops[rows]):
                file.write(piece)
            file.write(index)

    def _arrangement(self) -> tuple[ShardingSpec, list[ArrangedShard]]:
        """What goes where, of all values added so far; made anew only after another was added."""
        if self._made is not None and self._made[0] == len(self._keys):
            return self._made[1:]
        spec = self.suggested()
        columns = self._columns()
        self._check_keys(columns.keys)
        shards = list(arranged(spec, columns, self._order))
        if self._single is not None:
            self._check_single(spec, shards)
        self._made = len(self._keys), spec, shards
        return spec, shards

    def suggested(self) -> ShardingSpec:
        """The specification that was given, or else the one that suits the values added so far."""
        if self._spec is not None:
            return self._spec
        encoding = "gzip" if self._compressed else "raw"
        scale, grid = self._space.scale, self._space.grid
        single = self._single is not None
        if scale is not None and grid is not None:
            voxel = np.dtype(scale.data_type).itemsize if scale.data_type in DATA_TYPES else 1
            size = math.prod(scale.chunk_size) * scale.num_channels * voxel
            found = for_grid(grid, size, data_encoding=encoding, single=single)
        else:
            found = for_ids(len(self._keys), data_encoding=encoding, single=single)
        self.notes = (found.why,)
        return found.spec

    def _check_keys(self, keys: Keys) -> None:
        """Refuses keys that come twice, and those that no chunk has.

        Raises:
            UsageError: There are such.
        """
        ordered = np.sort(keys)
        if (ordered[1:] == ordered[:-1]).any():
            rows = np.argsort(keys, kind="stable")
            at = int(np.flatnonzero(keys[rows][1:] == keys[rows][:-1])[0])
            first, second = (self._labels.of(int(row)) for row in rows[at : at + 2])
            raise UsageError(f"{first} and {second} have the same key, {keys[rows[at]]}")
        grid = self._space.grid
        if grid is not None and len(keys):
            _, valid = decode_many(keys, grid)
            if not valid.all():
                row = int(np.flatnonzero(~valid)[0])
                shape = ", ".join(map(str, grid))
                raise UsageError(f"{self._labels.of(row)}: {keys[row]} is the code of no chunk of the grid {shape}")

    def _check_single(self, spec: ShardingSpec, shards: list[ArrangedShard]) -> None:
        """Refuses to write keys into a file in which nobody would look for them.

        Raises:
            UsageError: They belong in several files, or in one of another name.
        """
        if len(shards) > 1:
            raise UsageError(
                f"the keys belong in {plural(len(shards), 'shard')}: give a folder, a name that ends with /"
            )
        target = self.output.target
        named = shard_number(target.name) if target is not None else None
        if named is None:
            return
        if named[1] != spec.name_digits or named[0] >= spec.shards:
            # Verification says that no reader looks for such a name; it was asked for.
            self.expected.add(FILE_NAME)
        elif named[0] != shards[0].number and self._keys:
            raise UsageError(f"the keys belong in {spec.shard_name(shards[0].number)}, not in {short(target)}")

    def _columns(self) -> Columns:
        # Copies: as long as an array is looked at, it cannot grow.
        return Columns(
            np.array(self._keys, np.uint64), np.array(self._before, np.int64), np.array(self._sizes, np.int64)
        )

    def _said_space(self, spec: ShardingSpec) -> KeySpace:
        return self._said.space(spec)

    def _info_text(self, spec: ShardingSpec) -> bytes:
        return self._said.text(spec, beside=self._single is not None)

    def _name(self, shard: ArrangedShard) -> str:
        """The name of a shard, relative to the target."""
        if self._single is not None:
            return self.output.target.name if self.output.target is not None else ""
        folder = self._space.folder if self._info is not None else ""
        name = shard.spec.shard_name(shard.number)
        return f"{folder}/{name}" if folder else name
