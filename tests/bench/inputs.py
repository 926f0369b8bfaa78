"""Inputs of the rows: `python -m tests.bench.inputs NAME COUNT PATH` writes one. Equal arguments give equal bytes.

Imports are inside the functions, also in `theirs.py`: what a program does not need must not count.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


def sharding(
    hash: str, minishard_bits: int, shard_bits: int, data_encoding: str = "raw", *, index: str = "gzip", shift: int = 0
) -> dict[str, Any]:
    """Return the sharding specification of a neuroglancer data set."""
    return {
        "@type": "neuroglancer_uint64_sharded_v1",
        "preshift_bits": shift,
        "hash": hash,
        "minishard_bits": minishard_bits,
        "shard_bits": shard_bits,
        "minishard_index_encoding": index,
        "data_encoding": data_encoding,
    }


MIB = 1 << 20
SPEC = sharding("murmurhash3_x86_128", 9, 0, "gzip")
WANTED = 1_000
"""Values that are read by key."""


def contents(count: int) -> Iterator[bytes]:
    """Yield small contents of 10 to 120 bytes, all different."""
    return map(content, range(count))


def content(number: int) -> bytes:
    return b"object %d " % number * (1 + number % 7)


def numbers() -> Iterator[int]:
    """Yield 64-bit numbers, as random keys; always the same."""
    import random

    dice = random.Random(17)
    while True:
        yield dice.getrandbits(64)


def values(count: int) -> dict[int, bytes]:
    """Return random keys with values that compress a little."""
    return {key: b"skeleton %d " % n * (1 + n % 9) for n, key in zip(range(count), numbers(), strict=False)}


def shuffled(keys: Iterable[str]) -> list[str]:
    """Return keys in another order, always the same."""
    import random

    found = list(keys)
    random.Random(2).shuffle(found)
    return found


def sample(path: Path, count: int) -> None:
    from pathlib import Path

    path.write_bytes((Path(__file__).parents[2] / "resources/samples/swh/small.shard").read_bytes())


def swh(path: Path, count: int) -> None:
    import hashlib

    from swh.shard import ShardCreator

    with ShardCreator(str(path), count) as writer:
        for data in contents(count):
            writer.write(hashlib.sha256(data).digest(), data)


def des(path: Path, count: int) -> None:
    """Write uids of 64 digits without compression, as converting a swh shard does."""
    import hashlib

    import shardcore

    with shardcore.create(path, format="des", codec="none") as writer:
        objects = list(contents(count))
        writer.add_many([hashlib.sha256(data).hexdigest() for data in objects], objects)


def skeletons(path: Path, count: int) -> None:
    """Write one neuroglancer shard with its info, by cloud-volume."""
    import json

    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification

    path.mkdir()
    spec = ShardingSpecification.from_dict(dict(SPEC))
    (path / "0.shard").write_bytes(spec.synthesize_shard(values(count)))
    (path / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": SPEC}))


def chunks(path: Path, megabytes: int) -> None:
    """Write files of 1 MiB of noisy voxels, named by their keys."""
    import numpy as np

    path.mkdir()
    dice = np.random.default_rng(5)
    for key in range(megabytes):
        (path / str(key)).write_bytes(dice.normal(120, 6, MIB).astype("u1").tobytes())


def files(path: Path, count: int) -> None:
    """Write small files, 1,000 in each folder, and their manifest for `pack`."""
    import json

    names = [f"{number // 1000}/{number}" for number in range(count)]
    for number, name in enumerate(names):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content(number))
    (path / "manifest").write_text("".join(json.dumps({"path": name}) + "\n" for name in names))


def walk(path: Path, megabytes: int) -> None:
    """Write a random walk of 64-bit integers."""
    import numpy as np

    steps = np.random.default_rng(1).integers(0, 3, megabytes * MIB // 8)
    path.write_bytes(np.cumsum(steps).astype("<i8").tobytes())


def noise(path: Path, megabytes: int) -> None:
    import random

    dice = random.Random(4)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(dice.randbytes(MIB))


def blp(path: Path, megabytes: int) -> None:
    """Write the bytes of `walk` as a Bloscpack file."""
    from tests.bench.theirs import pack_blp

    walk(path.with_suffix(".bin"), megabytes)
    pack_blp(str(path.with_suffix(".bin")), str(path))


def zeros(path: Path, megabytes: int) -> None:
    """Write zeros as a Bloscpack file."""
    from tests.bench.theirs import pack_blp

    path.with_suffix(".bin").write_bytes(bytes(megabytes * MIB))
    pack_blp(str(path.with_suffix(".bin")), str(path))


def xet(path: Path, count: int) -> None:
    """Upload small files to a local store of hf-xet; `links` in it has their hashes and sizes."""
    import warnings

    import hf_xet

    warnings.simplefilter("ignore", DeprecationWarning)
    paths = [path / "files" / str(number) for number in range(count)]
    (path / "files").mkdir(parents=True)
    for file, data in zip(paths, contents(count), strict=True):
        file.write_bytes(data)
    found = hf_xet.upload_files([str(file) for file in paths], f"local://{path}/cas", None, None, None, "model")
    sizes = (file.stat().st_size for file in paths)
    (path / "links").write_text("".join(f"{one.hash} {size}\n" for one, size in zip(found, sizes, strict=True)))
    (shard,) = (path / "cas").rglob("shard-cache/*.mdb")
    shard.rename(shard.with_name("uploaded.mdb"))


def volume(path: Path, count: int) -> None:
    """Write a volume of 512 × 512 × 64 voxels in chunks of 64³, one gzip file per chunk and sharded."""
    import numpy as np

    from tests.volumes import write_volume

    wave = np.linspace(0, 20, 512)
    plane = 120 + 60 * np.sin(wave[:, None] + np.cos(wave[None, :]))
    noise: Any = np.random.default_rng(5).normal(0, 6, (512, 512, 64))
    array = (plane[..., None] + noise).clip(1, 255).astype("u1")
    for form in ("files", "gzip"):
        write_volume(path / form, form, array, (64, 64, 64))


if __name__ == "__main__":
    from pathlib import Path

    globals()[sys.argv[1]](Path(sys.argv[3]), int(sys.argv[2]))
