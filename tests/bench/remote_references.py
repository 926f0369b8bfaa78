"""What the reference readers of the sharded precomputed format ask of the same server: tensorstore and cloud-volume."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.remote.bills import Bill
from tests.remote.servers import RangeServer

VOLUME = Path(__file__).parents[1] / "data" / "neuroglancer" / "volume"


def reference_counts(server: RangeServer, root: str, bill: Bill) -> dict[str, dict[str, tuple[int, int]]]:
    """Requests and bytes by reader and action, each from a cold start; actions as in `bills.AFTER_OPENING`, and `open`.

    What opening costs is counted for a small volume: that is what these readers open by its `info`.
    """
    spec = json.loads(bill.files[f"{bill.target}info"].read(0, 1 << 20))["sharding"]
    url = f"{root}/{bill.target}"
    readers = {"tensorstore": tensorstore_actions(url, spec), "cloud-volume": cloud_volume_actions(url, spec)}
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for reader, opened in readers.items():
        found[reader] = {}
        for action in ("object", "absent", "list"):
            todo = opened()
            server.log.clear()
            todo[action](bill)
            found[reader][action] = len(server.log), server.log.sent
    volume = server.put_folder("/volume", VOLUME)
    for reader, opened_volume in (("tensorstore", open_with_tensorstore), ("cloud-volume", open_with_cloud_volume)):
        server.log.clear()
        opened_volume(volume)
        found[reader]["open"] = len(server.log), server.log.sent
    return found


def open_with_tensorstore(url: str) -> None:
    """Opens a volume."""
    import tensorstore as ts

    ts.open({"driver": "neuroglancer_precomputed", "kvstore": url}, open=True, context=ts.Context()).result()


def open_with_cloud_volume(url: str) -> None:
    """Opens a volume."""
    from cloudvolume import CloudVolume

    CloudVolume(f"precomputed://{url.rstrip('/')}", progress=False)


Action = Callable[[Bill], None]


def tensorstore_actions(url: str, spec: dict[str, Any]) -> Callable[[], dict[str, Action]]:
    """Tensorstore, which is told the specification and so asks for no `info`."""

    def opened() -> dict[str, Action]:
        store = tensorstore_at(url, spec)

        def read(bill: Bill) -> None:
            assert store.read(int(bill.key).to_bytes(8, "big")).result().state == "value"

        def read_nothing(bill: Bill) -> None:
            assert store.read(int(bill.absent).to_bytes(8, "big")).result().state == "missing"

        def list_all(bill: Bill) -> None:
            assert store.list().result()

        return {"object": read, "absent": read_nothing, "list": list_all}

    return opened


def tensorstore_at(url: str, spec: dict[str, Any]) -> Any:
    """Tensorstore's key-value store over an address that ends with a slash, without a cache from before."""
    import tensorstore as ts

    return ts.KvStore.open(
        {"driver": "neuroglancer_uint64_sharded", "base": url, "metadata": spec}, context=ts.Context()
    ).result()


def cloud_volume_actions(url: str, spec: dict[str, Any]) -> Callable[[], dict[str, Action]]:
    """The reader of shards in cloud-volume, told the specification likewise."""
    from cloudvolume.cacheservice import CacheService
    from cloudvolume.datasource.precomputed.sharding import ShardingSpecification, ShardReader
    from cloudvolume.paths import extract

    place = f"precomputed://{url.rstrip('/')}"

    class Meta:
        cloudpath = place
        path = extract(place)

    class Config:
        """Nothing is cached, shown or packed: cloud-volume asks for some ten settings."""

        progress = False
        parallel = 1

        def __getattr__(self, name: str) -> None:
            return None

    def opened() -> dict[str, Action]:
        parsed = ShardingSpecification.from_dict(copy.deepcopy(spec))
        cache = CacheService(place, False, Config(), Meta())
        reader = ShardReader(place, cache, parsed)

        def read(bill: Bill) -> None:
            assert reader.get_data(int(bill.key))

        def read_nothing(bill: Bill) -> None:
            assert reader.get_data(int(bill.absent)) is None

        def list_all(bill: Bill) -> None:
            shards = [name.rsplit("/", 1)[-1] for name in bill.files if name.endswith(".shard")]
            assert sum(len(reader.list_labels(name)) for name in shards)

        return {"object": read, "absent": read_nothing, "list": list_all}

    return opened
