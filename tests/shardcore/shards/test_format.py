"""What is left of a file that cannot be opened."""

from __future__ import annotations

import pytest

from shardcore.errors import FormatError, KeyAbsent, NotAShard, ShardError, UsageError
from shardcore.model.finding import Severity
from shardcore.model.node import Node
from shardcore.model.objects import ObjectRef
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.shards.open_context import Draft, PartialShard
from shardcore.sources.memory import BytesSource
from shardcore.testing import check_tiling

DAMAGE = FormatError("the index ends early", span=Span("", 6, 10))


def partial(damage: ShardError = DAMAGE) -> PartialShard:
    """Ten bytes of which four are known, and a node that promises more than there is."""
    draft = Draft()
    draft.version = "2"
    draft.add(Section("header", SectionRole.HEADER, 0, 4, "The header."), fields={"count": 7})
    draft.add(Section("index", SectionRole.INDEX, 4, 900), Node("index", Span("", 4, 900)))
    return PartialShard("test", BytesSource(bytes(10), "file"), draft, damage)


def test_what_was_known_is_shown() -> None:
    shard = partial()
    check_tiling(shard)
    assert [(s.name, s.start, s.stop) for s in shard.sections] == [("header", 0, 4), ("index", 4, 10)]
    assert (shard.fields, shard.version, shard.loaded) == ({"header.count": 7}, "2", True)
    shard.load_index()


def test_the_tree_points_to_the_damage() -> None:
    tree = partial().tree
    assert [n.name for n in tree.children] == ["header", "damage"]
    assert tree.children[-1].target == DAMAGE.span
    assert "ends early" in tree.error
    assert [n.name for n in partial().explain(2)] == ["file", "header"]
    assert [n.name for n in partial().explain(7)] == ["file"]


def test_everything_else_tells_the_damage() -> None:
    shard = partial()
    with pytest.raises(FormatError, match="ends early"):
        shard.find("k")
    assert shard.trace("k").outcome == "damaged"
    (finding,) = shard.verify("structure").findings
    assert (finding.code, finding.severity, finding.span) == ("test.damaged", Severity.ERROR, DAMAGE.span)
    assert partial(NotAShard("nothing")).verify().findings[0].code == "test.unreadable"
    assert (len(shard.objects), shard.declared_objects) == (0, 0)
    with pytest.raises(UsageError):
        list(shard.stream(ObjectRef("k", 0, ())))
    shard.damage = None
    with pytest.raises(KeyAbsent):
        shard.find("k")
