"""Commands on valid files of up to a million objects; all contents are read only in smaller files."""

from __future__ import annotations

import collections
import collections.abc
import hashlib
import json
import math
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run

pytestmark = [
    pytest.mark.large,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore:hf_xet:DeprecationWarning"),
]

MILLION = 1_000_000
THOUSANDS = 100_000
MANY = (1 << 17) + 1
"""Number of objects for commands that take 0.1 ms per object; more than any command processes in one block."""
DEAR = 20_000
"""The same for a Xet cache, where an object takes 1 ms."""
CHUNKS = 8192
"""Number of chunks in a full xorb."""
SPEC = {
    "@type": "neuroglancer_uint64_sharded_v1",
    "preshift_bits": 0,
    "hash": "murmurhash3_x86_128",
    "minishard_bits": 9,
    "shard_bits": 0,
    "minishard_index_encoding": "gzip",
}


def swh(folder: Path, count: int) -> Path:
    """Write a Read Shard with the reference writer."""
    from swh.shard import ShardCreator

    path = folder / "large.shard"
    with ShardCreator(str(path), count) as writer:
        for number in range(count):
            data = b"object %d " % number * (1 + number % 7)
            writer.write(hashlib.sha256(data).digest(), data)
    return path


def des(folder: Path, count: int) -> Path:
    """Write a DES shard with the writer of shardcore, since there is no reference package."""
    path = folder / "large.des"
    with shardcore.create(path, format="des") as writer:
        numbers = range(count)
        writer.add_many([f"in/{n:09d}.xml" for n in numbers], [b"<invoice number='%d'/>" % n for n in numbers])
    return path


def neuroglancer(folder: Path, count: int, encoding: str = "raw") -> Path:
    """Write a shard of short values with tensorstore."""
    import tensorstore as ts

    spec = SPEC | {"data_encoding": encoding}
    base = {"driver": "file", "path": f"{folder}/"}
    store = ts.KvStore.open({"driver": "neuroglancer_uint64_sharded", "base": base, "metadata": spec}).result()
    with ts.Transaction() as transaction:
        inside = store.with_transaction(transaction)
        for number in range(count):
            inside[(7 * number).to_bytes(8, "big")] = b"value %010d" % number
    (folder / "info").write_text(json.dumps(spec))
    return folder / "0.shard"


def zipped(folder: Path, count: int) -> Path:
    """Write the same shard with each value compressed by gzip."""
    return neuroglancer(folder, count, "gzip")


def bloscpack(folder: Path, count: int) -> Path:
    """Write a file of small chunks with Bloscpack, which needs names that newer Python versions have moved."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("Mapping", "MutableMapping", "Iterable", "Sequence"):
            patch.setattr(collections, name, getattr(collections.abc, name), raising=False)
        import bloscpack as reference
    path = folder / "large.blp"
    data = b"".join(b"%063d\n" % number for number in range(count))
    reference.pack_bytes_to_file(data, str(path), chunk_size=64)
    return path


def mdb(folder: Path, count: int) -> Path:
    """Write a shard cache and its xorbs with hf-xet."""
    import hf_xet

    (folder / "in").mkdir()
    paths = [folder / "in" / str(number) for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(b"file %d\n" % number * (1 + number % 9))
    (folder / "cas").mkdir()
    hf_xet.upload_files([str(path) for path in paths], f"local://{folder / 'cas'}", None, None, None, "model")
    (found,) = (folder / "cas" / "xet" / "shard-cache").glob("*.mdb")
    return found


@dataclass(frozen=True)
class Large:
    """File with many objects to test.

    Attributes:
        make: Function that writes it, with a number of objects, into a folder.
        package: Module of the reference implementation that writes it; empty for none.
        objects: Number of its objects.
        target: Format to which it is converted.
        checked: Whether every content has a checksum.
        many: Number of objects in a smaller version, of which all contents are read.
        xorbs: Whether `ls` also lists chunks and xorbs; each object is a file with one chunk.
        contents: Number of objects after conversion and extraction, if not `objects`; else 0.
    """

    make: Callable[[Path, int], Path]
    package: str
    objects: int
    target: str
    checked: bool = False
    many: int = MANY
    xorbs: bool = False
    contents: int = 0

    @property
    def recovered(self) -> int:
        """Number of objects that `recover` finds."""
        return self.objects + math.ceil(self.objects / CHUNKS) * self.xorbs

    @property
    def rows(self) -> int:
        """Number of rows that `ls` lists."""
        return self.recovered + self.objects * self.xorbs


FILES = (
    Large(swh, "swh.shard", MILLION, "des", checked=True),
    Large(des, "", MILLION, "swh"),
    Large(neuroglancer, "tensorstore", MILLION, "des"),
    Large(zipped, "tensorstore", MILLION, "swh", checked=True),
    Large(bloscpack, "blosc", THOUSANDS, "des", checked=True, contents=1),
    Large(mdb, "hf_xet", THOUSANDS, "swh", checked=True, many=DEAR, xorbs=True),
)


def marked(one: Large) -> list[pytest.MarkDecorator]:
    """Return marks that run all tests of a file in one worker, so that it is created once, and require its package."""
    marks = [pytest.mark.xdist_group(f"large {one.make.__name__}")]
    return [*marks, pytest.mark.interop(one.package)] if one.package else marks


Made = Callable[[int], tuple[Large, Path]]


@pytest.fixture(scope="module", params=[pytest.param(one, id=one.make.__name__, marks=marked(one)) for one in FILES])
def one(request: pytest.FixtureRequest) -> Large:
    """Description of the file to test."""
    found: Large = request.param
    return found


@pytest.fixture(scope="module")
def made(one: Large, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Function that creates the file with a number of objects, once; returns its description and path."""

    @cache
    def make(objects: int) -> tuple[Large, Path]:
        return replace(one, objects=objects), one.make(tmp_path_factory.mktemp(one.make.__name__), objects)

    return make


@pytest.fixture
def large(one: Large, made: Made) -> tuple[Large, Path]:
    """Description and path of the large file."""
    return made(one.objects)


@pytest.fixture
def many(one: Large, made: Made) -> tuple[Large, Path]:
    """Description and path of the smaller file."""
    return made(min(one.many, one.objects))


def output(folder: Path, *arguments: str) -> list[str]:
    """Run a command, which must succeed without messages on standard error; return the lines that it prints."""
    told, complaints = folder / "stdout", folder / "stderr"
    with told.open("w") as out, complaints.open("w") as err, redirect_stdout(out), redirect_stderr(err):
        code = run(list(arguments))
    assert (code, complaints.read_text()) == (0, ""), arguments
    return told.read_text().splitlines()


def test_info_and_tree(large: tuple[Large, Path], tmp_path: Path) -> None:
    """`info` prints the number of objects, and `tree` prints nodes."""
    one, path = large
    assert any(f"{one.objects}" in line.replace(",", "") for line in output(tmp_path, "info", str(path), "--count"))
    assert len(output(tmp_path, "tree", str(path))) > 10


def test_ls(large: tuple[Large, Path], tmp_path: Path) -> None:
    one, path = large
    assert len(output(tmp_path, "ls", str(path))) == one.rows


def test_ls_with_digests(many: tuple[Large, Path], tmp_path: Path) -> None:
    one, path = many
    lines = output(tmp_path, "ls", str(path), "--digest", "sha256")
    assert len(lines) == one.rows
    assert sum(line[:1] != "-" for line in lines) >= one.objects


def verified(folder: Path, path: Path, depth: str) -> int:
    """Verify a file, which must have no findings; return the number of objects without a checksum."""
    told = json.loads("".join(output(folder, "verify", str(path), "--depth", depth, "--json")))
    assert (told["ok"], told["findings"]) == (True, [])
    return int(told["unverified"])


def test_verify_index(large: tuple[Large, Path], tmp_path: Path) -> None:
    verified(tmp_path, large[1], "index")


def test_verify_contents(many: tuple[Large, Path], tmp_path: Path) -> None:
    """All objects with a checksum are verified."""
    one, path = many
    assert verified(tmp_path, path, "content") == (0 if one.checked else one.objects)


def test_get_and_trace(large: tuple[Large, Path], tmp_path: Path) -> None:
    """`get` and `trace` find an object in the middle of the file."""
    one, path = large
    (line,) = output(tmp_path, "ls", str(path), "--skip", str(one.objects // 2), "--limit", "1")
    key = line.split()[-1]
    assert output(tmp_path, "get", str(path), key)
    assert output(tmp_path, "trace", str(path), key)


def test_salvage(many: tuple[Large, Path], tmp_path: Path) -> None:
    one, path = many
    *lines, last = output(tmp_path, "salvage", str(path), "--plan", "--json")
    told = json.loads(last)
    assert told["complete"]
    assert len(lines) == told["whole"] + told["unchecked"] == one.recovered


def test_convert(many: tuple[Large, Path], tmp_path: Path) -> None:
    one, path = many
    out = tmp_path / "out"
    with (tmp_path / "told").open("w") as told, redirect_stdout(told), redirect_stderr(told):
        assert run(["convert", str(path), one.target, str(out), "--no-verify"]) == 0
    assert len(output(tmp_path, "ls", str(out))) == (one.contents or one.objects)


def test_extract(many: tuple[Large, Path], tmp_path: Path) -> None:
    """Files with fewer objects are extracted completely; a file system is slow with a million files."""
    one, path = many
    if one.objects < MANY and sys.platform != "win32":
        output(tmp_path, "extract", str(path), str(tmp_path / "out"))
        assert len(list((tmp_path / "out").iterdir())) >= (one.contents or one.objects)
