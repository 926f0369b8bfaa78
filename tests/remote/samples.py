"""One small data set or file of each format, and what is done with it: open, list, get, verify."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import shardcore
from shardcore.shards.shard import Shard
from tests.remote.servers import RangeServer

DATA = Path(__file__).parents[1] / "data"
MDB = DATA / "mdb" / "cas"


@dataclass(frozen=True, slots=True)
class Sample:
    """Something to open, the same from a folder here and from a server.

    Attributes:
        name: What tests call it.
        files: The bytes by relative path.
        target: What is opened: one of the files, or a folder, which ends with a slash.
        key: A key that is there.
        absent: A key of the same form that is not.
        beside: Options of opening whose values are paths, relative as `files` are.
    """

    name: str
    files: Mapping[str, bytes]
    target: str
    key: str
    absent: str
    beside: Mapping[str, str] = field(default_factory=dict)

    def served(self, server: RangeServer) -> None:
        """Puts the files on a server, below the name of the sample."""
        for path, data in self.files.items():
            server.put(f"/{self.name}/{path}", data)

    def stored(self, folder: Path) -> Path:
        """Writes the files below a folder; what is opened there."""
        for path, data in self.files.items():
            place = folder / self.name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        return folder / self.name / self.target

    def opened(self, root: str, **options: Any) -> Shard:
        """Opens it below an address or a folder, without a slash at its end."""
        beside = {name: f"{root}/{self.name}/{path}" for name, path in self.beside.items()}
        return shardcore.open(f"{root}/{self.name}/{self.target}", **beside, **options)


def opening(shard: Shard, sample: Sample) -> Any:
    """What opening tells."""
    sections = [(one.name, one.role, one.start, one.stop) for one in shard.sections]
    return shard.format, shard.version, sections, shard.declared_objects


def listing(shard: Shard, sample: Sample) -> Any:
    """All keys, with their places and sizes."""
    shard.load_index()
    rows = shard.objects[:]
    return list(shard.objects.keys[:]), rows.start.tolist(), rows.stop.tolist(), rows.size.tolist()


def getting(shard: Shard, sample: Sample) -> Any:
    """One object."""
    return shard.read(shard.find(sample.key))


def missing(shard: Shard, sample: Sample) -> Any:
    """A key that is not there."""
    try:
        return shard.find(sample.absent)
    except shardcore.KeyAbsent:
        return "absent"


def verifying(shard: Shard, sample: Sample) -> Any:
    """Everything, with all contents."""
    report = shard.verify("content")
    return report.ok, [(one.severity, one.code, str(one.span), one.message) for one in report.findings]


ACTIONS: dict[str, Callable[[Shard, Sample], Any]]
ACTIONS = {"open": opening, "list": listing, "get": getting, "absent": missing, "verify": verifying}
"""What is done after opening, by what it is called."""


@cache
def samples() -> dict[str, Sample]:
    """The samples by the name of their format."""
    swh = (DATA / "swh" / "medium.shard").read_bytes()
    shard = next((MDB / "shard-cache").glob("e74f*.mdb"))
    xorb = next((MDB / "xorbs").glob("default.6832*"))
    skeletons = DATA / "neuroglancer" / "skeletons_murmur_gzip"
    blp = {"large.blp": (DATA / "bloscpack" / "made" / "large.blp").read_bytes()}
    mdb = {f"xorbs/{path.name}": path.read_bytes() for path in (MDB / "xorbs").iterdir()}
    mdb[shard.name] = data = shard.read_bytes()
    volume = {f"skeletons/{path.name}": path.read_bytes() for path in skeletons.iterdir()}
    found = [
        Sample("swh", {"medium.shard": swh}, "medium.shard", _key(swh), "00" * 32),
        Sample("bloscpack", blp, "large.blp", "2", "999999"),
        Sample("des", _des(), "documents.des", "document 7", "document 1000"),
        Sample("mdb", mdb, shard.name, _key(data), "f" * 64, {"xorbs": "xorbs/"}),
        Sample("xorb", {xorb.name: xorb.read_bytes()}, xorb.name, "1", "999999"),
        Sample("neuroglancer", volume, "skeletons/", "151409651873003500", "5"),
    ]
    return {sample.name: sample for sample in found}


def _key(data: bytes) -> str:
    """The key of the largest object of a shard."""
    with shardcore.open(data) as shard:
        shard.load_index()
        return str(shard.objects.keys[int(shard.objects[:].size.argmax())])


def _des() -> dict[str, bytes]:
    """A shard of 200 KB, without a metadata file."""
    dice = random.Random(3)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "documents.des"
        with shardcore.create(path, format="des") as writer:
            for number in range(40):
                writer.add(f"document {number}", dice.randbytes(5000))
        return {path.name: path.read_bytes()}
