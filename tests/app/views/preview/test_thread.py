"""From an element to its bytes and back, proved in the sandbox: a changed byte changes that element and no other."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shardcore
from shardcore import Shard, ShardError, Span, TensorsContent
from shardcore.model.content_layout import part_at
from shardcore.progress import no_progress
from shardcore.sources.patched_source import Change
from shardcore.teaching import resource_paths
from shardscope.session.open_request import OpenRequest
from shardscope.views.preview import Preview
from shardscope.views.preview.panel import part_preview, preview_of
from tests.app.views.preview.preview_rig import npy, tensors

ELEMENTS = 12
"""Random elements of each array that are tried."""


def made(folder: Path) -> Path:
    """A shard with arrays in both orders, and tensors."""
    path, cube = folder / "arrays.des", np.arange(240).reshape(4, 6, 10)
    with shardcore.create(path, format="des", codec="none", skip="") as writer:
        writer.add("c.npy", npy(cube.astype("<u4")))
        writer.add("f.npy", npy(np.asfortranarray(cube.astype("<i2"))))
        writer.add("model.safetensors", tensors())
    return path


def shown(shard: Shard, key: str) -> Preview:
    """The object as the preview shows it; of tensors, the second one."""
    preview, _ = preview_of(shard, shard.find(key), None, {})
    return part_preview(shard, preview, 1, {})[0] if isinstance(preview.content, TensorsContent) else preview


def changed(request: OpenRequest, key: str, at: Span, old: int) -> NDArray[Any] | None:
    """The array with one stored byte changed in the sandbox; None where it cannot be decoded any more."""
    assert not at.source
    change = Change.overwrite(at.start, bytes([old ^ 0x55]))
    try:
        with OpenRequest(request.uri, sandbox=True, changes=(change,)).open(no_progress) as shard:
            return shown(shard, key).content.array
    except (ShardError, AttributeError):
        # The bytes of a compressed block may not be decoded any more: they are shown as bytes.
        return None


def follow(request: OpenRequest, key: str, *, exact: bool) -> None:
    """Follow elements on a thread: the one that paints does not read."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(follow_elements, request, key, exact).result()


def follow_elements(request: OpenRequest, key: str, exact: bool) -> None:
    """Follow random elements to their bytes, change these, and compare."""
    chance = random.Random(7)
    with request.open(no_progress) as shard:
        preview = shown(shard, key)
        array, layout = preview.content.array, preview.content.layout
        for _ in range(ELEMENTS if exact else 3):
            index = tuple(chance.randrange(length) for length in array.shape)
            start, stop = layout.bytes_of(index)
            span = preview.span_of(start, stop)
            inside = preview.inside(span)
            assert inside[0] <= start < stop <= inside[1]
            old = shard.bytes_of(span.source).read(span.start, span.start + 1)[0]
            if exact:
                assert inside == (start, stop)
                assert span.size == array.dtype.itemsize
            part = part_at(preview.parts, start + preview.begin)
            after = changed(request, key, span if not span.source else part.stored, old)
            if after is None:
                assert not exact
                continue
            places = {tuple(int(n) for n in place) for place in np.argwhere(after != array)}
            if exact:
                assert places == {index}
            for place in places:
                at = layout.bytes_of(place)[0] + preview.begin
                assert part.start <= at < part.stop


VOLUME = resource_paths.path("samples/neuroglancer/volume/8_8_16/0.shard")


@pytest.mark.parametrize("key", ["c.npy", "f.npy", "model.safetensors", "1", "16"])
def test_an_uncompressed_element_is_its_bytes(tmp_path: Path, key: str) -> None:
    """A changed byte in the sandbox changes that element and no other, also in a raw chunk of a volume."""
    follow(OpenRequest(str(VOLUME if key.isdigit() else made(tmp_path))), key, exact=True)


def test_a_block_of_bloscpack_is_its_elements(tmp_path: Path) -> None:
    """A changed byte of a block changes elements of that block only, or the block cannot be decoded."""
    follow(OpenRequest(str(resource_paths.path("samples/bloscpack/array.blp"))), "1", exact=False)
    path, array = tmp_path / "copied.blp", np.arange(600, dtype="<i4").reshape(20, 30)
    with shardcore.create(path, format="bloscpack", level=0, checksum="None", chunk_size=1200) as writer:
        writer.add(None, array.tobytes(), dtype="<i4", shape=[20, 30], order="C")
    for key, exact in (("1", True), ("all", False)):
        follow(OpenRequest(str(path)), key, exact=exact)
