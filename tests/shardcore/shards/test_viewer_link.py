"""Links of Neuroglancer: their layers are listed, and the only one is opened."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import LayerUnchosen, UsageError
from shardcore.shards.viewer_link import Layer, layers_of
from tests.remote.servers import RangeServer

VIEWER = "https://neuroglancer-demo.appspot.com/#!"
CELLS = 'it\'s "cells", 1_2'
LAYERS = [
    {"type": "image", "name": "raw", "source": "precomputed://gs://bucket/em"},
    {"type": "segmentation", "name": CELLS, "source": [{"url": "s3://b/c/|neuroglancer-precomputed:"}, "n5://x"]},
    {"type": "annotation", "name": "points", "source": "local://annotations"},
]


def link(layers: object) -> str:
    return VIEWER + quote(json.dumps({"layers": layers, "showSlices": False}))


FOUND = (Layer("raw", "image", "gs://bucket/em/"), Layer(CELLS, "segmentation", "s3://b/c/"))


def test_layers_with_precomputed_sources_also_without_quotes_and_commas() -> None:
    assert layers_of(link(LAYERS)) == FOUND
    state = (
        "{'layers':[{'type':'image'_'name':'raw'_'source':'precomputed://gs://bucket/em'}_"
        "{'type':'segmentation'_'name':'it\\'s \"cells\", 1_2'_'source':{'url':'precomputed://s3://b/c'}}]}"
    )
    assert layers_of(VIEWER + state) == FOUND


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("gs://bucket/state.json", "only the address of its state"),
        ("{'layers'", "not JSON"),
        ("{}", "no layer"),
        ('{"layers": 3}', "no layer"),
        ("[" * 10_000, "only the address of its state"),
        ('{"a":' + "[" * 10_000, "deep"),
    ],
)
def test_links_without_layers(rest: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        shardcore.open(VIEWER + rest)


def test_the_command_lists_the_layers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", link(LAYERS)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in told[1:]] == ["gs://bucket/em/", "s3://b/c/"]
    with pytest.raises(LayerUnchosen) as caught:
        shardcore.open(link(LAYERS))
    assert caught.value.layers == tuple((one.name, one.address) for one in FOUND)


def test_the_only_layer_is_opened(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RangeServer() as server:
        address = server.put_folder("/set", data / "neuroglancer" / "skeletons_murmur_gzip")
        only = link([{"type": "segmentation", "name": "cells", "source": f"precomputed://{address.rstrip('/')}"}])
        with shardcore.open(only) as shard:
            assert shard.format == "neuroglancer"
        assert run(["info", only]) == 0
    assert capsys.readouterr().out.startswith(f"{address}: neuroglancer")
