"""Cold cost of a lookup, measured by repeating the lookup with empty caches."""

from __future__ import annotations

from typing import Any

from shardcore.dataclasses import dataclass
from shardcore.errors import UsageError
from shardcore.model.span import Span
from shardcore.shards.dataset import DataSet
from shardcore.shards.opening import head_bytes
from shardcore.shards.opening import open as open_shard
from shardcore.shards.shard import Shard
from shardcore.shards.trace import LookupRecorder, Trace, record_lookup
from shardcore.sources.base import Folder, ReadPurpose, Source, reading_for
from shardcore.sources.cold_source import ColdCost, ColdFolder, ColdSource, CostRecorder


@dataclass(frozen=True, slots=True)
class ColdTrace:
    """Lookup with empty caches: cost of opening, cost of each step, and the ranges requested in each round trip."""

    trace: Trace
    opening: ColdCost
    steps: tuple[ColdCost, ...]
    trips: tuple[tuple[Span, ...], ...] = ()

    @property
    def total(self) -> ColdCost:
        return sum(self.steps, self.opening)


def cold_trace(shard: Shard, key: str, *, fetch: bool = False) -> ColdTrace:
    """Repeat a lookup with empty caches and return the requests that each step costs.

    The cost is counted as with empty caches, but ranges of a remote file that are cached are not fetched again.

    Raises:
        UsageError: The key is malformed, or bytes are not cached and `fetch` is False.
        SourceError: The bytes cannot be read.
    """
    cost_recorder = CostRecorder(fetch=fetch)
    try:
        chosen: dict[str, Any] = dict(shard.chosen)
        chosen |= {name: ColdFolder(one, cost_recorder) for name, one in chosen.items() if isinstance(one, Folder)}
        with open_shard(_cold(shard, cost_recorder), partial=True, **chosen) as found:
            opening = cost_recorder.cost
            recorder = _ColdRecorder(cost_recorder)
            parsed = found.parse_key(key)
            with reading_for(ReadPurpose.LOOKUP):
                trace = record_lookup(
                    key, lambda recorder: found.lookup(parsed, recorder), recorder, lambda: found.sections
                )
            return ColdTrace(trace, opening, tuple(recorder.costs), cost_recorder.trips)
    finally:
        cost_recorder.close()


def _cold(shard: Shard, cost_recorder: CostRecorder) -> Source | Folder:
    if isinstance(shard, DataSet):
        return ColdFolder(shard.folder, cost_recorder)
    if shard.source is None:
        raise UsageError("a cold start can be measured only for a file or a folder")
    folder = ColdFolder(shard.source.folder, cost_recorder) if shard.source.folder is not None else None
    return ColdSource(shard.source, cost_recorder, folder, head=(0, head_bytes(shard.source.name)), owned=False)


class _ColdRecorder(LookupRecorder):
    """Lookup recorder that also stores the cost of each step."""

    def __init__(self, cost_recorder: CostRecorder) -> None:
        super().__init__(recording=True)
        self.costs: list[ColdCost] = []
        self._cost_recorder, self._before = cost_recorder, cost_recorder.cost

    def step(self, *told: Any, **values: Any) -> None:
        now = self._cost_recorder.cost
        super().step(*told, **values)
        self.costs.append(now - self._before)
        self._before = now
