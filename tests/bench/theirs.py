"""Work of the rows with the reference implementations: `python -m tests.bench.theirs NAME ARGUMENTS…`."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from itertools import islice

from tests.bench.inputs import SPEC, WANTED, contents, numbers, shuffled, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SLOT, LENGTH = struct.Struct(">32sQ"), struct.Struct(">Q")
INDEX = 64
"""Offset of the header's `index_position`; `index_size` follows."""


def swh_objects(path: str) -> Iterator[tuple[str, bytes]]:
    from swh.shard import Shard

    with Shard(path) as shard:
        for key in shard:
            yield key.hex(), shard[key]


def des_entries(path: str) -> Iterator[tuple[str, int, int]]:
    """Yield uid, offset and size by a loop with `struct`: no package reads DES."""
    with open(path, "rb") as file:
        size = file.seek(-8, 2) + 8
        (length,) = struct.unpack("<Q", file.read(8))
        file.seek(size - 12 - length)
        index = file.read(length)
    at = 4
    for _ in range(struct.unpack_from("<I", index)[0]):
        (length,) = struct.unpack_from("<H", index, at)
        at += 2 + length
        _, start, size, _, _, _, more = struct.unpack_from("<BQQBQQI", index, at)
        yield index[at - length : at].decode(), start, size
        at += 38 + more


def des_objects(path: str) -> Iterator[tuple[str, bytes]]:
    with open(path, "rb") as file:
        for uid, start, size in des_entries(path):
            file.seek(start)
            yield uid, file.read(size)


class DesFile:
    """Writer of DES by a loop with `struct`, without compression."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - `close` closes it
        self._file.write(b"DES2\2\0\0\0")
        self._at = 8
        self._entries: dict[str, bytes] = {}

    def add(self, uid: str, data: bytes) -> None:
        if uid in self._entries:
            raise ValueError(uid)
        raw, size = uid.encode(), len(data)
        self._file.write(data)
        entry = struct.pack("<BQQBQQI", 0, self._at, size, 0, size, size, 0)
        self._entries[uid] = struct.pack("<H", len(raw)) + raw + entry
        self._at += size

    def close(self) -> None:
        index = struct.pack("<I", len(self._entries)) + b"".join(self._entries.values())
        self._file.write(index + b"DESI" + struct.pack("<Q", len(index)))
        self._file.close()


def by_key(path: str) -> None:
    rows = {uid: (start, size) for uid, start, size in des_entries(path)}
    with open(path, "rb") as file:
        for uid in shuffled(rows):
            start, size = rows[uid]
            file.seek(start)
            file.read(size)


def by_row(path: str) -> None:
    for _ in des_objects(path):
        pass


def list_des(path: str) -> None:
    for uid, start, size in des_entries(path):
        print(uid, start, size)


def write_des(path: str, count: str) -> None:
    import hashlib

    writer = DesFile(path)
    for data in contents(int(count)):
        writer.add(hashlib.sha256(data).hexdigest(), data)
    writer.close()


def convert(source: str, target: str, verify: str = "") -> None:
    writer = DesFile(target)
    for key, data in swh_objects(source):
        writer.add(key, data)
    writer.close()
    if verify:
        for (_, data), (_, read) in zip(swh_objects(source), des_objects(target), strict=True):
            assert data == read


def extract(source: str, target: str) -> None:
    from pathlib import Path

    Path(target).mkdir()
    for key, data in swh_objects(source) if source.startswith("swh") else des_objects(source):
        with open(f"{target}/{key}", "wb") as file:
            file.write(data)


def rows_of(path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of `ls --json`, always the same dictionary: the index and sizes by `struct`."""
    with open(path, "rb") as file:
        data = file.read()
    start, size = struct.unpack_from(">QQ", data, INDEX)
    row: dict[str, Any] = {"key": "", "kind": "object", "state": "live", "size": 0, "stored_size": 0}
    row |= {"start": 0, "stop": 0, "codec": "none", "shard": ""}
    for key, at in SLOT.iter_unpack(data[start : start + size]):
        if any(key):
            (size,) = LENGTH.unpack_from(data, at)
            row["key"], row["start"], row["stop"] = key.hex(), at + 8, at + 8 + size
            row["size"] = row["stored_size"] = size
            yield row


def dumps(path: str) -> None:
    import json

    sys.stdout.writelines(json.dumps(row) + "\n" for row in rows_of(path))


def write_swh(path: str, count: str) -> None:
    import hashlib

    from swh.shard import ShardCreator

    with ShardCreator(path, int(count)) as writer:
        for data in contents(int(count)):
            writer.write(hashlib.sha256(data).digest(), data)


def pack_swh(manifest: str, target: str) -> None:
    import hashlib
    import json
    from pathlib import Path

    from swh.shard import ShardCreator

    folder = Path(manifest).parent
    paths = [folder / json.loads(line)["path"] for line in Path(manifest).read_text().splitlines()]
    with ShardCreator(target, len(paths)) as writer:
        for path in paths:
            data = path.read_bytes()
            writer.write(hashlib.sha256(data).digest(), data)


def tensorstore(folder: str) -> Any:
    from pathlib import Path

    import tensorstore as ts

    base = {"driver": "file", "path": f"{Path(folder).resolve()}/"}
    return ts.KvStore.open({"driver": "neuroglancer_uint64_sharded", "base": base, "metadata": SPEC}).result()


def list_skeletons(folder: str) -> None:
    for key in tensorstore(folder).list().result():
        int.from_bytes(key, "big")


def random_skeletons(folder: str) -> None:
    store = tensorstore(folder)
    for key in islice(numbers(), WANTED):
        assert store.read(key.to_bytes(8, "big")).result().value


def synthesize(folder: str, labels: dict[int, bytes]) -> None:
    from pathlib import Path

    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification

    Path(folder).mkdir()
    for name, data in ShardingSpecification.from_dict(dict(SPEC)).synthesize_shards(labels).items():
        Path(folder, name).write_bytes(data)


def write_skeletons(folder: str, count: str) -> None:
    synthesize(folder, values(int(count)))


def pack_chunks(source: str, folder: str, verify: str = "") -> None:
    from pathlib import Path

    labels = {int(path.name): path.read_bytes() for path in Path(source).iterdir()}
    synthesize(folder, labels)
    if verify:
        store = tensorstore(folder)
        for key, data in labels.items():
            assert store.read(key.to_bytes(8, "big")).result().value == data


def slices(folder: str, count: str) -> None:
    from pathlib import Path

    from cloudvolume import CloudVolume

    volume = CloudVolume(f"file://{Path(folder).resolve()}", progress=False, cache=False, lru_bytes=0)
    for number in range(int(count)):
        z = volume.bounds.minpt[2] + number % 64
        volume[:, :, z]


def bloscpack() -> Any:
    import collections.abc

    collections.MutableMapping = collections.abc.MutableMapping  # type: ignore[attr-defined]
    import bloscpack

    return bloscpack


def read_blp(path: str) -> None:
    assert bloscpack().unpack_bytes_from_file(path)[0]


def unpack_blp(path: str, target: str) -> None:
    bloscpack().unpack_file_from_file(path, target)


def pack_blp(source: str, target: str) -> None:
    bloscpack().pack_file_to_file(source, target)


def hf_xet() -> Any:
    import warnings

    warnings.simplefilter("ignore", DeprecationWarning)
    import hf_xet

    return hf_xet


def hash_files(path: str) -> None:
    """Chunk and hash a file, or all files of a folder."""
    from pathlib import Path

    files = Path(path).iterdir() if Path(path).is_dir() else [path]
    print(len(hf_xet().hash_files(list(map(str, files)))))


def upload(source: str, target: str) -> None:
    from pathlib import Path

    hf_xet().upload_files([source], f"local://{Path(target).resolve()}", None, None, None, "model")


def close_when_painted(window: Any) -> None:
    """Close a window after it was first painted, which happens when it becomes exposed."""
    from PySide6.QtCore import QTimer

    def check() -> None:
        if window.windowHandle().isExposed():
            window.close()
        else:
            QTimer.singleShot(0, check)

    QTimer.singleShot(0, check)


def window(title: str) -> None:
    from PySide6.QtWidgets import QApplication, QLabel, QMainWindow

    application = QApplication([])
    window = QMainWindow()
    window.setCentralWidget(QLabel(title))
    window.resize(1440, 900)
    window.show()
    close_when_painted(window)
    application.exec()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
