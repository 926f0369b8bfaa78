"""All hostile files, of all formats."""

from __future__ import annotations

from tests.hostile import bloscpack, des, neuroglancer
from tests.hostile.making import ALL

MODULES = (bloscpack, des, neuroglancer)

__all__ = ["ALL", "MODULES"]
