"""All hostile files, of all formats."""

from __future__ import annotations

from tests.hostile import bloscpack, des, mdb, neuroglancer, sparse, swh, xorb
from tests.hostile.making import ALL as MADE

MODULES = (bloscpack, des, mdb, neuroglancer, swh, xorb)

ALL = sorted(MADE, key=str)
"""In an order that does not depend on what is imported first, so that the files drawn from them are the same."""

__all__ = ["ALL", "MODULES", "sparse"]
