"""Inputs of a data set: files named by key, chunks of an array, or an unsharded data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from shardcore.errors import UsageError
from shardcore.formats.neuroglancer.compressed_files import content_of, plain_name
from shardcore.formats.neuroglancer.info import KeySpace, SpaceKind
from shardcore.formats.neuroglancer.info_writer import of_spec
from shardcore.formats.neuroglancer.keys import key_of_name
from shardcore.formats.neuroglancer.npy_volume import chunks, describe_volume
from shardcore.formats.neuroglancer.unsharded_input import MANIFEST, chunk_key, pairs, unsharded_at
from shardcore.writing.inputs import FormatInputs, InputItem, LeftOut, input_files


def gather(paths: Sequence[Path], options: Mapping[str, Any], left_out: LeftOut) -> FormatInputs:
    """Return the objects of the inputs; skipped files are reported to `left_out`."""
    volume = options.get("volume")
    if volume is not None:
        if paths:
            raise UsageError("volume cannot be combined with other inputs")
        described = describe_volume(volume, options.get("chunk_size"), options.get("resolution"), options.get("kind"))
        return FormatInputs(chunks(volume, described))
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
