"""Lookups told step by step."""

from __future__ import annotations

import pytest

from shardcore.errors import BadMagic, KeyAbsent, LimitExceeded
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.shards.trace import LookupRecorder, record_lookup
from shardcore.sources.memory import BytesSource

REF = ObjectRef("k", 0, ())


def test_a_step_costs_what_was_read_since_the_last() -> None:
    one, two = BytesSource(bytes(100)), BytesSource(bytes(100))

    def lookup(recorder: LookupRecorder) -> ObjectRef:
        assert recorder.meter(one) is recorder.meter(one)
        assert recorder.meter(recorder.meter(one)) is recorder.meter(one)
        recorder.meter(one).read(0, 10)
        recorder.meter(two).read_many([(0, 5), (9, 9)])
        recorder.step("Read", "Two ranges.", Span("", 0, 10), number=7)
        recorder.step("Think", "Nothing read.")
        recorder.meter(one).read(3, 4)
        recorder.step("Read again", "One more.")
        return REF

    trace = record_lookup("k", lookup)
    assert (trace.outcome, trace.ref, trace.error) == ("found", REF, "")
    assert [(s.requests, s.bytes) for s in trace.steps] == [(2, 15), (0, 0), (1, 1)]
    assert trace.steps[0].spans == (Span("", 0, 10),)
    assert trace.steps[0].values == {"number": 7}


def test_an_absent_key_ends_at_its_proof() -> None:
    def lookup(recorder: LookupRecorder) -> ObjectRef:
        recorder.step("Look", "The slot holds another key.")
        raise KeyAbsent("k")

    trace = record_lookup("k", lookup)
    assert (trace.outcome, trace.ref) == ("absent", None)
    assert trace.steps[-1].title == "Look"
    assert "k" in trace.error


@pytest.mark.parametrize("error", [BadMagic("no magic", span=Span("", 4, 8)), LimitExceeded("too long")])
def test_damage_is_a_step_of_its_own(error: BadMagic) -> None:
    def lookup(recorder: LookupRecorder) -> ObjectRef:
        raise error

    trace = record_lookup("k", lookup)
    assert trace.outcome == "damaged"
    assert trace.steps[-1].spans == ((error.span,) if error.span else ())
