"""The start of the program."""

from __future__ import annotations

import gc

import pytest

from shardscope.__main__ import quick_start


def test_the_collector_works_again_after_the_start() -> None:
    with quick_start():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), quick_start():
        raise ImportError("a library that Qt needs is missing")
    assert gc.isenabled()
    gc.unfreeze()
