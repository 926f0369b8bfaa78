"""Endings of files, guessed from their first bytes."""

from __future__ import annotations

import gzip
import io
import json
import zipfile

import numpy as np
import pytest

from shardcore.operations.extraction.files import HEAD, ending_of


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "b")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "ending"),
    [
        (b"", ""),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), ".png"),
        (b"\xff\xd8\xff\xe0" + bytes(20), ".jpg"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", ".webp"),
        (b"xxxx\x10\0\0\0WEBPVP8 ", ""),
        (gzip.compress(b"x", mtime=0), ".gz"),
        (zipped(), ".zip"),
        (b"%PDF-1.4\n", ".pdf"),
        (saved(np.arange(3)), ".npy"),
        (b"\x7fELF\2\1\1" + bytes(9), ".elf"),
        (bytes(257) + b"ustar\0" + bytes(250), ".tar"),
        (b"hello\n", ".txt"),
        ("grüße, 数据".encode(), ".txt"),
        (b"\x1b[1mbold\x1b[0m", ".txt"),
        (b"a\0b", ""),
        (b"\xff\xfe\x00", ""),
        (b'{"a": 1}', ".json"),
        (b"  [1, 2]\n", ".json"),
        (b"[]", ".json"),
        (b"[not json]", ".txt"),
        (b"{'a': 1}", ".txt"),
        (b"[" * 4000, ".txt"),
        (b"42", ".txt"),
        (bytes(100), ""),
    ],
)
def test_whole_contents(content: bytes, ending: str) -> None:
    assert ending_of(content, whole=True) == ending


def test_cut_contents() -> None:
    text = ("é" * HEAD).encode()[: HEAD - 1]
    assert ending_of(text, whole=False) == ".txt"
    assert ending_of(text, whole=True) == ""
    assert ending_of(json.dumps(list(range(10_000))).encode()[:HEAD], whole=False) == ".json"
