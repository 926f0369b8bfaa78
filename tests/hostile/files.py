"""All hostile files, of all formats."""

from __future__ import annotations

from tests.hostile import bloscpack, des, mdb, neuroglancer, sparse, swh, xorb
from tests.hostile.making import ALL

MODULES = (bloscpack, des, mdb, neuroglancer, swh, xorb)

__all__ = ["ALL", "MODULES", "sparse"]
