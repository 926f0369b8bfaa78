"""Neuroglancer precomputed, sharded: volumes, meshes, skeletons and annotations packed by unsigned 64-bit keys."""

from __future__ import annotations

from typing import Any

from shardcore.errors import ShardError, UsageError
from shardcore.format import Certainty, Format, Verdict
from shardcore.formats.neuroglancer.dataset import judge_folder, open_folder
from shardcore.formats.neuroglancer.lookup import locate
from shardcore.formats.neuroglancer.opening import joined, open_shard
from shardcore.formats.neuroglancer.origin import given_origin, inference_of, info_of
from shardcore.formats.neuroglancer.sharding import shard_number
from shardcore.options import Option, OptionType, Purpose
from shardcore.sources.opening import PrefetchedSource

__all__ = ["FORMAT"]


def _detect(probe: PrefetchedSource) -> Verdict | None:
    """By what lies beside: the file has the name of a shard, and an info describes its folder."""
    if shard_number(probe.name) is None:
        return None
    found = info_of(probe)
    space = found.info.space_of(found.folder) if found is not None else None
    if found is None or space is None:
        return None
    return Verdict(Certainty.BESIDE, f"{found.where}, {space.name}")


def _infer(probe: PrefetchedSource) -> Verdict | None:
    """By the bytes alone; says so even when not every check passes, to be named as a candidate."""
    try:
        whole, _, index_size = joined(probe)
    except ShardError:
        return None
    inference = inference_of(probe, whole, index_size)
    if inference.best is None:
        return None
    return Verdict(Certainty.INFERRED if inference.certain else Certainty.PARTLY, inference.why)


def _locate(key: str, *, info: Any = None, spec: Any = None, folder: object = "") -> dict[str, Any]:
    """Which shard file and minishard a key belongs to.

    Args:
        key: The key in decimal.
        info: The info of a data set: JSON text, a mapping, or the path of the file or of its folder.
        spec: The sharding specification alone, given likewise.
        folder: The folder of the key space, where the info has several.

    Raises:
        UsageError: Neither or both are given, or the info has several key spaces and `folder` names none of them.
    """
    if (info is None) == (spec is None):
        raise UsageError("locate needs either info= or spec=")
    return locate(given_origin(spec if info is None else info, str(folder)), key)


FORMAT = Format(
    name="neuroglancer",
    title="Neuroglancer precomputed, sharded",
    suffixes=(".shard", ".index", ".data"),
    detect=_detect,
    open=open_shard,
    infer=_infer,
    detect_folder=judge_folder,
    open_folder=open_folder,
    locate=_locate,
    options=(
        Option("spec", OptionType.JSON, "The sharding specification.", names_format=True),
        Option("info", OptionType.JSON, "The info of a data set, or its folder.", Purpose.LOCATE),
        Option("spec", OptionType.JSON, "The sharding specification alone.", Purpose.LOCATE),
        Option("folder", OptionType.TEXT, "The folder of the key space, where the info has several.", Purpose.LOCATE),
    ),
)
