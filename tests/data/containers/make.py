"""Make the samples of this folder with NumPy, zipfile, gzip and zstandard: `python make.py`."""

import gzip
import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import zstandard

HERE = Path(__file__).parent
ARRAY = np.arange(24, dtype="<f4").reshape(2, 3, 4)
WHEN = (2026, 1, 2, 3, 4, 6)


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def safetensors(tensors, metadata=None):
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, array in tensors.items():
        dtype = {"f": "F", "i": "I", "u": "U"}[array.dtype.kind] + str(8 * array.dtype.itemsize)
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in tensors.values())


def archive(members, *, comment=b"", stream=False, zip64=False):
    out = io.BytesIO()

    class Unseekable(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            return out.write(data)

    with zipfile.ZipFile(Unseekable() if stream else out, "w") as target:
        target.comment = comment
        for name, (data, method) in members.items():
            info = zipfile.ZipInfo(name, WHEN)
            info.compress_type = method
            with target.open(info, "w", force_zip64=zip64) as member:
                member.write(data)
    return out.getvalue()


TEXT = b"a line of text that repeats\n" * 40
MEMBERS = {
    "model.safetensors": (safetensors({"weight": ARRAY, "bias": np.arange(4, dtype="<i8")}), zipfile.ZIP_STORED),
    "folder/text.txt": (TEXT, zipfile.ZIP_DEFLATED),
    "folder/empty": (b"", zipfile.ZIP_STORED),
    "naïve.npy": (npy(ARRAY), zipfile.ZIP_DEFLATED),
}


def zstd(data, **more):
    return zstandard.ZstdCompressor(**more).compress(data)


NOISE = np.random.default_rng(5).integers(0, 256, 300_000, np.uint8).tobytes()
FILES = {
    "array.npy": npy(ARRAY),
    "fortran.npy": npy(np.asfortranarray(np.eye(5, dtype=">i2")[:, :3])),
    "empty.npy": npy(np.zeros((0, 3))),
    "model.safetensors": safetensors({"weight": ARRAY, "bias": np.arange(4, dtype="<i8")}, {"format": "np"}),
    "empty.safetensors": safetensors({}),
    "members.zip": archive(MEMBERS, comment=b"a comment"),
    "streamed.zip": archive(MEMBERS, stream=True),
    "zip64.zip": archive(MEMBERS, zip64=True),
    "empty.zip": archive({}),
    "prefixed.zip": b"#!/bin/sh\n# an archive that runs itself\n" + archive(MEMBERS),
    "named.gz": b"".join((b"\x1f\x8b\x08\x08\0\0\0\0\2\3text.txt\0", gzip.compress(TEXT, mtime=0)[10:])),
    "members.gz": gzip.compress(TEXT, mtime=1) + gzip.compress(b"", mtime=2) + gzip.compress(b"last", mtime=3),
    "text.zst": zstd(TEXT, write_checksum=True),
    "frames.zst": zstd(TEXT) + b"\x52\x2a\x4d\x18\x05\0\0\0skip!" + zstd(NOISE[:1000], write_content_size=False),
    "blocks.zst": zstd(bytes(200_000) + NOISE[:140_000], level=1),
}


if __name__ == "__main__":
    for name, data in FILES.items():
        (HERE / name).write_bytes(data)
