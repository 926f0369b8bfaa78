"""Rows of the benchmark: what runs on each side, and what ours may take of the reference's time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    In commands `{n}` is the count, `{out}` what the command writes, `{key}` a key of `{swh}`, and any other name an
    input of `inputs.py`. `ours NAME` and `theirs NAME` run that function of `ours.py` or `theirs.py`.

    Attributes:
        name: Name with `{n}`.
        n: Objects, MiB or slices.
        limit: Part of the reference's processor time that ours may take.
        ours: Our command.
        reference: The reference's; default: the function of the same name in `theirs.py`.
        memory: MiB that ours may take, or None.
        grows: True for rows that `--growth` runs with several counts of objects.
    """

    name: str
    n: int
    limit: float
    ours: str
    reference: str = ""
    memory: int | None = None
    grows: bool = False

    @property
    def theirs(self) -> str:
        return self.reference or self.ours.replace("ours", "theirs", 1)


_NUMPY = 'python -c "import numpy"'
_OPEN = "python -c \"import shardcore; shardcore.open('{sample}')\""
_PACK = "shardcore pack neuroglancer {out}/ {chunks} -O kind=skeleton"
_PACKED, _CONVERTED = "theirs pack_chunks {chunks} {out}", "theirs convert {swh} {out}"
_LIST, _CHECK = "swh-shard ls {swh}", "swh-shard check --with-hash {swh}"
_CONVERT = "shardcore convert {swh} des {out}"
_FILES = "shardcore pack swh {out} --manifest {files}/manifest"
_XET = "shardcore verify --depth content {xet}/cas/xet/shard-cache/uploaded.mdb"

ROWS = (
    Row("start: `--version`", 1, 0.5, "shardcore --version", _NUMPY),
    Row("start: `info`", 1, 1.5, "shardcore info {sample}", _NUMPY),
    Row("start: `open` in a library", 1, 1.3, _OPEN, _NUMPY),
    Row("start: first window", 1, 4.0, "ours window", "theirs window title"),
    Row("start: first window, with a file", 1, 4.0, "ours window {sample}"),
    Row("swh: list {n}", 1_000_000, 0.15, "shardcore ls {swh}", _LIST, grows=True),
    Row("swh: `ls --json` of {n}", 1_000_000, 0.8, "shardcore ls --json {swh}", "theirs dumps {swh}", grows=True),
    Row("swh: verify {n}", 1_000_000, 0.35, "shardcore verify --depth content {swh}", _CHECK, grows=True),
    Row("swh: get one of {n}", 1_000_000, 3.5, "shardcore get {swh} {key}", "swh-shard get {swh} {key}", grows=True),
    Row("swh: write {n} with `add_many`", 1_000_000, 0.8, "ours write_swh {out} {n}", memory=250, grows=True),
    Row("swh: pack {n} files", 50_000, 1.5, _FILES, "theirs pack_swh {files}/manifest {out}"),
    Row("swh: extract {n}", 100_000, 2.5, "shardcore extract {swh} {out}", "theirs extract {swh} {out}", grows=True),
    Row("swh to des: convert {n}, not read back", 100_000, 1.0, f"{_CONVERT} --no-verify", _CONVERTED),
    Row("swh to des: convert {n}, read back", 100_000, 1.0, _CONVERT, f"{_CONVERTED} verify", grows=True),
    Row("des: read {n} by key", 100_000, 4.0, "ours by_key {des}", grows=True),
    # Of 100,000, importing NumPy takes longer than the whole loop of the reference.
    Row("des: read {n} row by row", 1_000_000, 1.5, "ours by_row {des}", grows=True),
    Row("des: extract {n}", 100_000, 2.5, "shardcore extract {des} {out}", "theirs extract {des} {out}"),
    Row("des: list {n}", 1_000_000, 1.0, "shardcore ls {des}", "theirs list_des {des}", 200, grows=True),
    Row("des: write {n} with `add_many`", 1_000_000, 0.5, "ours write_des {out} {n}"),
    Row("neuroglancer: list {n}", 200_000, 0.8, "ours list_skeletons {skeletons}"),
    Row("neuroglancer: 1,000 random keys of {n}", 200_000, 1.0, "ours random_skeletons {skeletons}"),
    Row("neuroglancer: write {n}, gzip", 100_000, 0.8, "ours write_skeletons {out} {n}"),
    Row("neuroglancer: pack {n} MiB, not read back", 512, 0.8, f"{_PACK} --no-verify", _PACKED),
    Row("neuroglancer: pack {n} MiB, read back", 512, 0.8, _PACK, f"{_PACKED} verify"),
    Row("neuroglancer: {n} slices of 512 × 512, one gzip file per chunk", 100, 1.2, "ours slices {volume}/files {n}"),
    Row("neuroglancer: {n} slices of 512 × 512, sharded, gzip", 20, 1.2, "ours slices {volume}/gzip {n}"),
    Row("bloscpack: read {n} MiB as bytes", 256, 0.8, "ours read_blp {blp}"),
    Row("bloscpack: unpack {n} MiB", 256, 1.0, "shardcore get {blp} all -o {out}", "theirs unpack_blp {blp} {out}"),
    Row("bloscpack: pack {n} MiB", 256, 1.0, "shardcore pack bloscpack {out} {walk}", "theirs pack_blp {walk} {out}"),
    Row("bloscpack: read {n} MiB of zeros as bytes", 286, 0.8, "ours read_blp {zeros}", memory=350),
    Row("mdb: chunk and hash {n} MiB", 256, 2.0, "ours hash_files {noise}"),
    Row("mdb: pack {n} MiB", 256, 1.5, "shardcore pack mdb {out} {noise}", "theirs upload {noise} {out}"),
    Row("mdb: verify {n} files", 20_000, 0.8, _XET, "theirs hash_files {xet}/files"),
)
