"""Writing Bloscpack files: one file per input, in chunks of equal uncompressed size."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shardcore.codecs.json_text import FREE, parse_json
from shardcore.errors import FormatError, SourceError, UsageError, reason_of
from shardcore.formats.bloscpack.arrays import names_array
from shardcore.formats.bloscpack.checksums import CHECKSUMS
from shardcore.formats.bloscpack.encode import compressed
from shardcore.formats.bloscpack.file_writer import NewFile, Packing
from shardcore.formats.bloscpack.files_dataset import SUFFIX
from shardcore.formats.bloscpack.input_content import (
    InputContent,
    array_metadata,
    chunks_of,
    content_of,
    spool_beside,
)
from shardcore.formats.bloscpack.layout import CHUNK_SIZE
from shardcore.model.safe_text import short
from shardcore.sources.base import check_name
from shardcore.writing.columns import MOST_PAIRS, twins_error
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan
from shardcore.writing.temporary import Draining
from shardcore.writing.writer import Data, More, OddName, Sized, Writer

LONGEST = 255
"""Longest file name on common file systems, in bytes."""


@dataclass(frozen=True, slots=True)
class _Done:
    name: str
    label: str
    file: NewFile


class BloscpackWriter(Writer):
    """Writes one file, or a folder with one file per input; every chunk is checked by decompressing it.

    Args:
        output: The output.
        codec: The compressor.
        level: 0 to 9.
        shuffle: `byte` or `none`.
        typesize: Bytes of an element; None: itemsize of the array, else 8.
        chunk_size: Uncompressed bytes of every chunk but the last, rounded down to whole elements.
        checksum: Name of the checksum after every chunk.
        offsets: Write offsets.
        spare: Spare offset slots; None: ten per chunk.
        metadata: JSON text, path of a JSON file, or a value; stored in every file.
        metadata_codec: `none` or `zlib`.
    """

    proven = True

    def __init__(
        self,
        output: Output,
        *,
        codec: str = "blosclz",
        level: int = 7,
        shuffle: str = "byte",
        typesize: int | None = None,
        chunk_size: int | None = None,
        checksum: str = "adler32",
        offsets: bool = True,
        spare: int | None = None,
        metadata: Any = None,
        metadata_codec: str = "zlib",
    ) -> None:
        super().__init__(output)
        kind = next(one for one in CHECKSUMS if one.name == checksum)
        most = CHUNK_SIZE if chunk_size is None else chunk_size
        self._packing = Packing(codec, level, shuffle == "byte", typesize, most, kind, offsets, spare, metadata_codec)
        self._own_chunks = chunk_size is None
        self._metadata = json_of(metadata)
        self._content = 0
        self._done: list[_Done] = []
        self._names: dict[str, str] = {}
        self._twins: list[tuple[str, str, str]] = []
        self._file = None if output.folder else output.open()

    def _add(self, key: str | None, data: Data, more: More) -> str:
        who = more.label or key or f"object {len(self._done)}"
        name = self._name_of(key, more, who)
        if name in self._names:
            self._twins.append((self._names[name], who, name))
            return name.removesuffix(SUFFIX)
        with spool_beside(self.output.target) as spool:
            content = content_of(data, more.label, more.name or more.label, more.facts, spool)
            metadata = self._metadata_of(content, more, who)
            packing = self._packing
            if self._own_chunks and "chunk_size" in more.facts:
                packing = replace(packing, chunk_size=more.facts["chunk_size"], exact=True)
            shape = packing.shape(content.size, content.array.dtype.itemsize if content.array else None)
            file = self._begun(name)
            new = NewFile(file, self._packing, shape, self._packing.metadata_section(metadata))
            try:
                if isinstance(data, Sized) and self.output.planning:
                    new.pretend()
                    # The measured size of a `.npy` file includes its header, which is not packed.
                    self.exact = self.exact and not self._packing.level and not names_array(more.name or more.label)
                else:
                    plains = chunks_of(content, shape.chunk_size, more.label)
                    recipe = self._packing.recipe(shape)
                    new.write(compressed(plains, recipe, shape.chunk_size, self.output.workers))
            except BaseException:
                # The caller may continue after a failed input; the incomplete file is removed.
                self._take_back(file)
                raise
        self._content += content.size
        self._done.append(_Done(name, who, new))
        self._names[name] = who
        return name.removesuffix(SUFFIX)

    def plan(self) -> Plan:
        """Return the files that would be written with the inputs added so far; without inputs, an empty one."""
        self._check_twins()
        done = self._done or ([_Done("", "", self._empty(Draining()))] if self._file is not None else [])
        target = self.output.target.name if self.output.target and not self.output.folder else ""
        return Plan(tuple(one.file.planned(one.name or target) for one in done), self.exact, self._content)

    def _complete(self) -> None:
        self._check_twins()
        if self._done:
            return
        if self._file is None:
            raise UsageError("nothing to pack: a folder of Bloscpack files has one file per input")
        self._empty(self._file)

    def _empty(self, file: Draining) -> NewFile:
        shape = self._packing.shape(0, None)
        new = NewFile(file, self._packing, shape, self._packing.metadata_section(self._metadata))
        new.write([self._packing.recipe(shape).chunk(b"")])
        return new

    def _name_of(self, key: str | None, more: More, who: str) -> str:
        if self._file is not None and self._done:
            raise UsageError(
                f"{who}: a Bloscpack file has one content, and this one already has {self._done[0].label}; "
                "for several inputs give a folder, a name that ends with /"
            )
        if self._file is not None:
            return ""
        name = f"{key or more.name or len(self._done)}{SUFFIX}"
        try:
            check_name(name)
        except SourceError:
            raise OddName(f"{who}: {short(name)} is not a valid file name") from None
        if any(len(os.fsencode(part)) > LONGEST for part in name.split("/")):
            raise OddName(f"{who}: the file name with {SUFFIX} is longer than {LONGEST} bytes")
        return name

    def _check_twins(self) -> None:
        if self._twins:
            raise twins_error(self._twins[:MOST_PAIRS], len(self._twins), "file name")

    def _begun(self, name: str) -> Draining:
        return self.output.open(name) if self._file is None else self._file

    def _take_back(self, file: Draining) -> None:
        if file is self._file:
            file.rewind(0)
        else:
            self.output.drop(file)

    def _metadata_of(self, content: InputContent, more: More, who: str) -> Any:
        given = more.facts.get("metadata", self._metadata)
        if content.array is None:
            return given
        described = array_metadata(content.array)
        if given is None:
            return described
        if not isinstance(given, dict) or described.keys() & given.keys():
            names = ", ".join(described)
            raise UsageError(f"{who}: for an array, metadata must be a JSON object without {names}")
        return described | given


def json_of(given: Any) -> Any:
    """Return the value of an option: JSON text, the path of a JSON file, or the value itself."""
    if not isinstance(given, (str, Path)):
        return given
    text: str | bytes = str(given)
    path = Path(given)
    try:
        if path.is_file():
            text = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(given, Path):
            raise SourceError(f"cannot read {given}: {reason_of(error)}") from error
    try:
        return parse_json(text, "metadata", limits=FREE)
    except FormatError as error:
        what = f"{path}: {error.message}" if isinstance(text, bytes) else "neither a file nor JSON"
        raise UsageError(f"metadata={short(str(given))}: {what}") from None
