from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.formats.bloscpack import layout
from shardcore.model.drawing import Cells, Drawing, Tone
from shardcore.shards.shard import Shard
from shardcore.testing import DataSetContract, PageContract, ShardContract
from shardcore.testing.drawing_contract import DrawingContract
from tests.data.bloscpack.make import made

DATA = Path(__file__).parents[3] / "data" / "bloscpack"


def samples(*names: str) -> tuple[Path, ...]:
    return tuple(DATA / f"{name}.blp" for name in names)


SMALL = ("append_grow", "append_shrink", "array", "bitshuffle_tail", "codec_blosclz_1", "codec_lz4_2", "meta_1")
SMALL += ("no_offsets", "offsets_minus1", "old_blosc", "stream", "sum_8_sha512", "v1", "v2_offsets")


class TestEveryCut(ShardContract):
    samples = samples("empty", "tiny", "made/split", "made/plain_meta")
    cuts = 150
    absent = ("5", "99999999999999999999", "@12001", "@18446744073709551616")
    open_ranges, find_ranges, mutations = 1, 0, 40


class TestSmallFiles(ShardContract):
    samples = samples(*SMALL)
    absent = ("8", "@12001")
    open_ranges, find_ranges, mutations, cuts = 1, 0, 8, 10


class TestLargeFileWithOffsets(TestSmallFiles):
    samples = samples("made/large")
    absent = ("20", "@77234")


class TestLargeFileWithoutOffsets(TestLargeFileWithOffsets):
    samples = samples("made/large_walk", "made/large_stream")
    find_ranges = 3


def test_made_samples_are_what_the_script_makes() -> None:
    assert {path.name: path.read_bytes() for path in (DATA / "made").iterdir()} == made()


class TestColumns(DataSetContract):
    listed = True
    samples = (DATA / "bcolz" / "samples", DATA / "bcolz" / "prices" / "close")
    absent = ("13", "@12000", "99999999999999999999")


class TestTables(DataSetContract):
    listed = True
    samples = (DATA / "bcolz" / "prices",)
    absent = ("volume", "", "all", "0", "close/data/__0.blp")


class TestFiles(DataSetContract):
    listed = True
    samples = (DATA / "files",)
    absent = ("hello", "", "all", "0", "inner", "hello.txt.blp")
    alone: ClassVar = ("Which file",)


class TestBloscpackPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "bloscpack.md"
    others = (layout.METADATA_HEADER, layout.OFFSET, layout.CHUNK_HEADER, layout.BLOCK_START, layout.STREAM_LENGTH)
    layouts: ClassVar = {f"header, version {version}": record for version, record in layout.HEADERS.items()}
    layouts |= {record.name: record for record in others}


def test_opening_a_file_imports_no_codec() -> None:
    script = (
        f"import shardcore, sys; s = shardcore.open({str(DATA / 'array.blp')!r}); s.load_index(); s.metadata; s.tree"
    )
    for more, codecs in (("", "[]"), ("s.read(s.find('all'));", "['blosc.blosc_extension']")):
        script = f"{script}; {more} print([n for n in sys.modules if n.startswith(('lz4', 'zstandard', 'blosc'))])"
        done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
        assert done.stdout.splitlines()[-1] == codecs


def test_the_decoded_metadata_is_a_source_of_its_own() -> None:
    with shardcore.open(DATA / "array.blp") as shard:
        name = next(node.decoded for node in shard.tree.children[1].children if node.decoded)
        part = shard.part(name)
        assert part.source.read(0, part.source.size)[:1] == b"{"
        assert shard.explain(part.source.size - 1, name)[-1].name
        assert [(s.start, s.stop) for s in part.sections] == [(0, part.source.size)]
        assert part.tree().span == shardcore.Span(name, 0, part.source.size)
        for wrong in ("@1-2", "meta", f"{name}@0-1", f"x{name}"):
            with pytest.raises(shardcore.UsageError, match="unknown source"):
                shard.part(wrong)


SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "bloscpack"


class TestDrawings(DrawingContract):
    samples: ClassVar = [SAMPLES / f"{name}.blp" for name in ("array", "damaged", "odd")]
    samples += [DATA / f"{name}.blp" for name in ("tiny", "empty", "stream", "offsets_minus1", "codec_zstd_2")]
    samples += [DATA / f"{name}.blp" for name in ("bitshuffle_tail", "old_blosc", "made/split")]
    quick_samples: ClassVar[int] = 1
    names: ClassVar = ["rulers", "block", "bitshuffle", "lz4"]
    absent: ClassVar = ["99999"]
    most_keys: ClassVar[int] = 1


def drawn(shard: Shard, name: str, key: str = "", **values: object) -> Drawing:
    sketches = shard.sketches(shard.trace(key) if key else None)
    return next(one for one in sketches if one.name == name).draw(values)


def matrix(drawing: Drawing) -> Cells:
    return next(figure for figure in drawing.figures if isinstance(figure, Cells))


def test_shuffling_transposes_the_matrix() -> None:
    with shardcore.open(SAMPLES / "array.blp") as shard:
        plain = np.frombuffer(shard.read(shard.find("1")), np.uint8)
        memory, shuffled = (drawn(shard, "block", "1", shuffle=switch) for switch in (False, True))
    a, b = matrix(memory), matrix(shuffled)
    assert (a.columns, b.columns, len(a.items), len(b.items)) == (8, 7, 56, 56)
    values = np.array([int(item.text, 16) for item in a.items], np.uint8)
    assert np.array_equal(values, plain[:56])
    assert [item.text for item in b.items] == [f"{value:02x}" for value in values.reshape(7, 8).T.ravel()]
    for row in range(8):
        cells = b.items[7 * row : 7 * row + 7]
        if len({item.text for item in cells}) == 1:
            assert all(item.tone is Tone.HIT for item in cells)


def test_columns_draw_the_file_of_a_chunk() -> None:
    with shardcore.open(DATA / "bcolz" / "samples") as column:
        drawing = drawn(column, "rulers", "[3,1]")
        assert {span.source for item in drawing.items for span in item.spans} == {"data/__0.blp"}
        assert {"rulers", "block", "bitshuffle", "lz4", "record"} < {sketch.name for sketch in column.sketches()}
        assert drawn(column, "block").items
    with shardcore.open(DATA / "bcolz" / "prices") as table:
        name = str(table.objects.keys[0])
        drawing = drawn(table, "block", name)
        assert {span.source for item in drawing.items for span in item.spans} == {f"{name}/data/__0.blp"}
