"""The drawings of MDB shards: files over xorbs, cuts compared, the short entrance, the steps of a lookup."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import shardcore
from shardcore.shard import Shard
from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "mdb"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "mdb"
CACHE = SAMPLES / "cache"
ONE = CACHE / "b31c58f4afe1d61b870f2aea365c952c79fd311d1fe55c9f3bbebf30df872205.mdb"


class TestDrawings(DrawingContract):
    """Every rectangle stands for bytes of the tree, or is computed; every control can be set."""

    samples: ClassVar = [
        CACHE,
        ONE,
        *sorted(path for name in ("odd", "no-footer", "damaged") for path in (SAMPLES / name).glob("*.mdb")),
        *sorted((DATA / "cas").glob("shard*/*.mdb")),
        *sorted((DATA / "derived").glob("*.mdb")),
    ]
    quick_samples: ClassVar[int] = 4
    names: ClassVar = ["ribbons", "cuts", "entrance"]
    absent: ClassVar = [
        "fcd71d42a6d00e3468c946b0ff353728c6173d944afbfae4877c606fd5b8c255",
        "chunk:0970425b7defb12b691e8e3b705620733deaaddd33a760e17a4e9ba333445533",
    ]

    def opened(self, where: Any, **options: Any) -> Shard:
        """Opens a sample with its xorbs."""
        inside = isinstance(where, Path) and DATA in where.parents
        return shardcore.open(where, **({"xorbs": DATA / "cas" / "xorbs"} if inside else {}), **options)

    def keys(self, shard: Shard) -> list[str]:
        """Files, a xorb and a chunk, and what is not there."""
        kinds = {ref.kind: ref.key for ref in map(shard.objects.ref, range(len(shard.objects)))}
        return [*super().keys(shard), *(kinds[kind] for kind in ("xorb", "chunk") if kind in kinds)]
