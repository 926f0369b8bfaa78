"""How a lookup is printed: its steps, why each is made, what its values are, and what a first reader pays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from shardcore.cli.output import json_safe, worded
from shardcore.model.number_words import plural
from shardcore.model.text import said
from shardcore.shards.trace import COMPUTED

if TYPE_CHECKING:
    from shardcore.model.drawing import Drawing
    from shardcore.operations.cold_cost import ColdTrace
    from shardcore.shards.trace import Step, Trace
    from shardcore.sources.cold import Cost

_INDENT = "    "
_WIDE = 36
"""Letters of a value beyond which its meaning is not aligned with those of the others."""


def trace_json(trace: Trace, cold: ColdTrace | None = None) -> dict[str, Any]:
    """What `trace` says."""
    from shardcore.teaching.drawing.as_json import drawing_json

    steps = [
        {
            "title": step.title,
            "text": step.text,
            "spans": [span.to_json() for span in step.spans],
            "values": json_safe(step.values),
            "requests": step.requests,
            "bytes": step.bytes,
            "why": step.why,
            "inputs": [span.to_json() for span in step.inputs],
            "meanings": {name: {"text": one.text, "unit": one.unit} for name, one in step.meanings.items()},
            "drawing": None if step.drawing is None else drawing_json(step.drawing),
        }
        for step in trace.steps
    ]
    found: dict[str, Any] = {"key": trace.key, "outcome": trace.outcome, "steps": steps, "ending": trace.ending}
    if cold is not None:
        found["cold"] = {
            "opening": _cost_json(cold.opening),
            "steps": [_cost_json(cost) for cost in cold.steps],
            "total": _cost_json(cold.total),
        }
    return found


def _cost_json(cost: Cost) -> dict[str, int]:
    return {"requests": cost.requests, "bytes": cost.bytes, "rounds": cost.rounds}


def trace_lines(
    trace: Trace, cold: ColdTrace | None = None, *, draw: bool = False, brief: bool = False
) -> Iterator[str]:
    """The same, for people; with the drawings of the steps that have one, where they are wanted."""
    if cold is not None:
        yield f"Opening  [{cost_text(cold.opening)}]"
    for number, (step, cost) in enumerate(zip_longest(trace.steps, cold.steps if cold is not None else ()), 1):
        yield from islice(_step_lines(number, step, cost), 1 if brief else None)
        if draw and step.drawing is not None:
            yield from _drawn_lines(step.drawing)
    if cold is not None:
        yield f"Cold start: {cost_text(cold.total)}."
    error = worded(trace.error, trace.remedy, ("--deleted", "--spec", "--xorbs"))
    yield f"{trace.ending}: {trace.key}" + (f" ({error})" if error else "")


def cost_text(cost: Cost) -> str:
    """What somebody pays, in words: `2 requests, 66,127 bytes, 2 rounds`."""
    if not cost.requests:
        return "no requests"
    size, rounds = plural(cost.bytes, "byte"), plural(cost.rounds, "round trip")
    return f"{plural(cost.requests, 'request')}, {size}, {rounds}"


def _step_lines(number: int, step: Step, cost: Cost | None) -> Iterator[str]:
    if cost is not None:
        paid = f"  [{cost_text(cost)}]" if cost.requests else ""
    else:
        paid = f"  [{plural(step.requests, 'range')}, {plural(step.bytes, 'byte')}]" if step.requests else ""
    yield f"{number:>2}. {step.title}{paid}"
    yield f"{_INDENT}{step.text}"
    if step.why:
        yield f"{_INDENT}why: {step.why}"
    for place, span in enumerate(step.spans, 1):
        yield f"{_INDENT}{place}: bytes {span}"
    if step.computed:
        inputs = ", ".join(map(str, step.inputs))
        yield f"{_INDENT}{COMPUTED}" + (f"; from bytes {inputs}" if inputs else "")
    yield from _value_lines(step)


def _drawn_lines(drawing: Drawing) -> Iterator[str]:
    from shardcore.teaching.drawing.as_text import COLUMNS, as_text

    for line in ["", *as_text(drawing, COLUMNS - len(_INDENT)), ""]:
        yield f"{_INDENT}{line}".rstrip()


def _value_lines(step: Step) -> Iterator[str]:
    told = {}
    for name, value in step.values.items():
        meaning = step.meanings.get(name)
        told[name] = f"{name} = {said(value) if meaning is None else meaning.with_unit(said(value), value)}"
    width = max((len(text) for text in told.values() if len(text) <= _WIDE), default=0)
    for name, text in told.items():
        meaning = step.meanings.get(name)
        yield f"{_INDENT}{text:<{width}}  {meaning.text}" if meaning is not None else f"{_INDENT}{text}"
