"""Commands `info`, `tree`, `explain`, `trace`, `verify` and `locate`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import (
    FORMATS_PANEL,
    NO_WORKERS,
    SMALL_INDEX,
    USUAL,
    Json,
    Opening,
    ResumingWorkers,
    Uri,
    format_argument,
    format_options,
    only,
    opening_flags,
    opens,
    reaches,
    shown_uri,
    whole_number,
)
from shardcore.cli.output import (
    NodeCount,
    children_of,
    emit_json,
    emit_line,
    error_line,
    info_json,
    print_json,
    print_line,
    print_node_json,
    progress_bar,
    stopped,
    warn,
    with_advice,
)
from shardcore.dataclasses import asdict
from shardcore.errors import FormatError, NotAShard, Remedy, ShardError, SourceError, UsageError
from shardcore.model.finding import Depth, Report
from shardcore.model.text import bits_text, json_values, letters_of, long_size, plural, range_text, said, short
from shardcore.shards.registry import all_formats

if TYPE_CHECKING:
    from shardcore.model.node import Node
    from shardcore.operations.cold_cost import ColdTrace
    from shardcore.operations.references import References
    from shardcore.progress import Progress
    from shardcore.shards.shard import Shard
    from shardcore.shards.task_pool import TaskPool
    from shardcore.shards.trace import Step, Trace
    from shardcore.sources.cold_source import ColdCost


_ROUTING = tuple(one.name for one in all_formats() if one.locate is not None)
"""Formats whose routing rule computes which shard stores a key."""

_INDENT = "    "
_WIDE = 36
"""Maximum characters of a value that is padded, so that the meanings after the values form a column."""


def trace_json(trace: Trace, cold: ColdTrace | None = None) -> dict[str, Any]:
    from shardcore.teaching.drawing.text_output import drawing_json

    steps = [
        {
            "title": step.title,
            "text": step.text,
            "spans": [span.to_json() for span in step.spans],
            "values": json_values(step.values),
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
            "opening": asdict(cold.opening),
            "steps": list(map(asdict, cold.steps)),
            "total": asdict(cold.total),
        }
    return found


def trace_lines(
    trace: Trace, cold: ColdTrace | None = None, *, draw: bool = False, brief: bool = False
) -> Iterator[str]:
    if cold is not None:
        yield f"Opening  [{cost_text(cold.opening)}]"
    for number, (step, cost) in enumerate(zip_longest(trace.steps, cold.steps if cold is not None else ()), 1):
        yield from islice(_step_lines(number, step, cost), 1 if brief else None)
        if draw and step.drawing is not None:
            from shardcore.teaching.drawing.text_output import COLUMNS, as_text

            lines = ["", *as_text(step.drawing, COLUMNS - len(_INDENT)), ""]
            yield from (f"{_INDENT}{line}".rstrip() for line in lines)
    if cold is not None:
        yield f"Cold start: {cost_text(cold.total)}."
    error = with_advice(trace.error, trace.remedy, opening_flags())
    yield f"{trace.ending}: {trace.key}" + (f" ({error})" if error else "")


def cost_text(cost: ColdCost) -> str:
    """Return a cost as text: `2 requests, 66,127 bytes, 2 round trips`."""
    if not cost.requests:
        return "no requests"
    size, rounds = plural(cost.bytes, "byte"), plural(cost.rounds, "round trip")
    return f"{plural(cost.requests, 'request')}, {size}, {rounds}"


def _step_lines(number: int, step: Step, cost: ColdCost | None) -> Iterator[str]:
    if cost is not None:
        paid = f"  [{cost_text(cost)}]" if cost.requests else ""
    else:
        paid = f"  [{plural(step.requests, 'range')}, {plural(step.bytes, 'byte')}]" if step.requests else ""
    yield f"{number:>2}. {step.title}{paid}"
    yield f"{_INDENT}{step.text}"
    if step.why:
        yield f"{_INDENT}why: {step.why}"
    for place, span in enumerate(step.spans, 1):
        yield f"{_INDENT}{place}: {span}"
    if step.computed:
        from shardcore.shards.trace import COMPUTED

        inputs = ", ".join(map(str, step.inputs))
        yield f"{_INDENT}{COMPUTED}" + (f"; from {inputs}" if inputs else "")
    yield from _value_lines(step)


def _value_lines(step: Step) -> Iterator[str]:
    texts = {}
    for name, value in step.values.items():
        meaning = step.meanings.get(name)
        texts[name] = f"{name} = {said(value) if meaning is None else meaning.with_unit(said(value), value)}"
    width = max((len(text) for text in texts.values() if len(text) <= _WIDE), default=0)
    for name, text in texts.items():
        meaning = step.meanings.get(name)
        yield f"{_INDENT}{text:<{width}}  {meaning.text}" if meaning is not None else f"{_INDENT}{text}"


def leads_json(leads: References) -> dict[str, Any]:
    found = [
        {"span": lead.span.to_json(), "names": list(lead.names), "target": lead.target.to_json(), "why": lead.why}
        for lead in leads.found
    ]
    return {"leads": found, "more": leads.more}


def lead_lines(leads: References) -> Iterator[str]:
    if not leads.found:
        yield "No references."
        return
    yield "References:"
    for lead in leads.found:
        names = " › ".join(lead.names)
        yield f"  {lead.span}: {names}" if names else f"  {lead.span}"
        yield f"    {lead.why} → {lead.target}"
    if leads.more:
        yield f"  and {plural(leads.more, 'other')}"


MANY_NODES = 10_000
"""Default of `--nodes`."""

FIELD_LETTERS = 10_000
"""Maximum characters of a field that are printed as text; JSON has all of them."""

MOST_FIELDS = 256
"""Maximum number of fields of a section whose texts are looked up in the tree."""

ENDS_AT_SECTION = 2
"""Number of nodes in a path from the file to a section."""


@opens
def info(
    uri: Uri,
    json: Json = False,
    count: Annotated[bool, typer.Option("--count", help="Load the index to count the objects.")] = False,
    how: Opening = USUAL,
) -> int:
    """Print format, sections and header fields.

    Examples:
        shardcore info small.shard
        shardcore info s3://bucket/archive.shard --no-sign-request --request-log log.jsonl
    """
    with how.open(uri, partial=True) as shard:
        _refuse_unknown(shard)
        if count:
            _count(shard)
        if json:
            print_json(info_json(shard, shown_uri(uri)))
            return 0
        print_line(f"{shown_uri(uri)}: {shard.format} {shard.version}".rstrip() + f" ({shard.why})")
        objects = shard.declared_objects
        counted = "objects not counted (--count)" if objects is None else plural(objects, "object")
        print_line(f"{long_size(shard.size) if shard.size is not None else 'bytes not counted'}, {counted}")
        if shard.sections:
            width = max(len(s.name) for s in shard.sections)
            print_line()
            for section in shard.sections:
                print_line(f"  {section.name:<{width}}  {range_text(section.start, section.stop)}")
        if shard.fields:
            texts = _decoded_fields(shard)
            width = max(len(name) for name in shard.fields)
            print_line()
            for name, value in shard.fields.items():
                text = (letters_of(value) or value.hex()) if isinstance(value, bytes) else str(value)
                print_line(f"  {name:<{width}}  {texts.get(name) or _cut(text)}")
        if shard.damage is not None:
            warn(f"damaged: {error_line(shard.damage)}")
    return 0


@opens
def tree(
    uri: Uri,
    depth: Annotated[int, typer.Option(metavar="N", help="Print N levels below the file.", min=0)] = 2,
    json: Json = False,
    source: Annotated[str, typer.Option("--in", metavar="SOURCE", help="Source: decoded bytes or another file.")] = "",
    nodes: Annotated[int, typer.Option(metavar="N", help="Print at most N nodes; 0: all.", min=0)] = MANY_NODES,
    how: Opening = USUAL,
) -> int:
    """Print the tree of sections, records and fields.

    Examples:
        shardcore tree contents.des --depth 3
    """
    count = NodeCount(nodes or None)
    with how.open(uri, partial=True) as shard:
        _refuse_unknown(shard)
        _load_small(shard)
        root = shard.tree_of(source)
        if json:
            print_node_json(root, depth, count)
        else:
            count.take()
            _print_tree(root, depth, 0, count)
        if shard.damage is not None:
            warn(f"damaged: {error_line(shard.damage)}")
    return 0


@opens
def explain(
    uri: Uri,
    offset: Annotated[str, typer.Argument(metavar="OFFSET", help="A byte; 0x… for hexadecimal.", show_default=False)],
    source: Annotated[str, typer.Option("--in", metavar="SOURCE", help="Source: decoded bytes or another file.")] = "",
    leads: Annotated[bool, typer.Option("--references", "--leads", help="Also list what refers to this byte.")] = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Explain one byte: the path from the file to the smallest field that contains it.

    Examples:
        shardcore explain small.shard 0x1a0
        shardcore explain small.shard 4465 --references
    """
    from shardcore.model.span import Span
    from shardcore.operations.references import references_to

    number = whole_number(offset)
    if number is None:
        raise UsageError(f"an offset must be a number such as 4096 or 0x1000, not {short(offset)}")
    with how.open(uri, partial=True) as shard:
        _refuse_unknown(shard)
        if shard.source is None and not source:
            raise UsageError(_which_file(shown_uri(uri), shard))
        _load_small(shard)
        path = shard.explain(number, source)
        if len(path) <= ENDS_AT_SECTION and not shard.loaded:
            _load(shard)
            path = shard.explain(number, source)
        if leads and not shard.loaded:
            _load(shard)
        found = references_to(shard, Span(source, number, number + 1)) if leads else None
    if json:
        from shardcore.model.details import node_json

        nodes = [node_json(node) for node in path]
        print_json(nodes if found is None else {"path": nodes} | leads_json(found))
        return 0
    for level, node in enumerate(path):
        print_line("  " * level + _node_line(node))
        if node.doc:
            print_line("  " * level + f"    {node.doc}")
        if node.differs is not None:
            print_line("  " * level + f"    {node.differs.sentence}")
    for line in lead_lines(found) if found is not None else ():
        print_line(line)
    return 0


@opens
def trace(
    uri: Uri,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key to look up.", show_default=False)],
    json: Json = False,
    cold: Annotated[
        bool, typer.Option("--cold", help="Measure a cold start: requests, bytes and round trips.")
    ] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Draw each step that has a drawing.")] = False,
    brief: Annotated[bool, typer.Option("--brief", help="One line per step.")] = False,
    how: Opening = USUAL,
) -> int:
    """Look up a key step by step; the last step proves the answer.

    Examples:
        shardcore trace archive 2090 --cold
        shardcore trace archive 2090 --draw
    """
    only("without --json", not json, draw=draw, brief=brief)
    from shardcore.operations.cold_cost import cold_trace
    from shardcore.shards.trace import ABSENT, FOUND

    with how.open_rest(uri) as shard:
        found = shard.trace(key)
        # Ranges of a remote file that the lookup fetched are cached.
        paid = cold_trace(shard, key, fetch=True) if cold else None
    if json:
        emit_json(trace_json(found, paid))
    else:
        for line in trace_lines(paid.trace if paid is not None else found, paid, draw=draw, brief=brief):
            emit_line(line)
    if found.outcome == FOUND:
        return 0
    return 1 if found.outcome == ABSENT else 3


@opens
def verify(
    uri: Uri,
    depth: Annotated[Depth, typer.Option(help="Depth of the checks.")] = Depth.CONTENT,
    workers: ResumingWorkers = NO_WORKERS,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Check structure, index and contents; exit code 1 when there is an error.

    An error means: some reader fails, or returns wrong bytes. Warnings, notes and contents without a checksum leave
    exit code 0; the last line, and "unverified" with --json, count the objects whose content was not verified. An
    unreachable source is not reported as file damage: exit code 4, after the findings so far.

    Examples:
        shardcore verify small.shard
        shardcore verify archive --depth index --json
    """
    try:
        with (
            workers.pool() as tasks,
            how.open_rest(uri, whole=depth is Depth.CONTENT and tasks is None) as shard,
            progress_bar("verifying") as progress,
        ):
            if shard.decodes_to_verify:
                shard.isolate()
            report = _verified(shard, depth, tasks, progress)
    except SourceError as error:
        if error.partial is None:
            raise
        _print_report(error.partial, as_json=json)
        raise stopped(error, error.partial.stopped_after) from None
    except (FormatError, NotAShard):
        if json:
            with how.open(uri, partial=True) as shard:
                emit_json(shard.verify(depth).to_json())
        raise
    _print_report(report, as_json=json)
    if report.left_out:
        warn(with_advice(f"{plural(report.left_out, 'object')} left out", Remedy.WORK))
    return 0 if report.ok else 1


def _verified(shard: Shard, depth: Depth, tasks: TaskPool | None, progress: Progress) -> Report:
    """Verify a shard or data set; a damaged file is verified in this process instead of by workers."""
    from shardcore.shards.dataset import DataSet
    from shardcore.shards.shard_tasks import member_report

    if tasks is None or isinstance(shard, DataSet) or shard.damage is not None:
        shard.tasks = tasks
        return shard.verify(depth, progress)
    with closing(tasks.each(shard, member_report, (depth,))) as reports:
        report = next(reports)
    if isinstance(report, ShardError):
        raise report
    return report


def _print_report(report: Report, *, as_json: bool) -> None:
    if as_json:
        emit_json(report.to_json())
        return
    for finding in report.findings:
        place = f" [{finding.span}]" if finding.span else ""
        emit_line(f"{finding.severity.value}: {finding.code}: {finding.message}{place}")
    if not report.stopped_after:
        emit_line(report.summary)


@reaches
def locate(
    format_name: Annotated[str, format_argument(f"{' or '.join(_ROUTING)}.", *_ROUTING)],
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key.", show_default=False)] = "",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "-O",
            metavar="NAME=VALUE",
            help="An option of the format; -O help lists them.",
            rich_help_panel=FORMATS_PANEL,
        ),
    ] = None,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Compute which shard stores a key, from the routing rule alone, without reading files.

    Examples:
        shardcore locate des 2090 -O date=2026-01-05
        shardcore locate des -O help
    """
    from shardcore.cli.pack import print_options
    from shardcore.model.options import OptionPurpose
    from shardcore.shards.opening import locate as locate_key

    if option == ["help"]:
        return print_options(format_name, OptionPurpose.LOCATE)
    if not key:
        raise UsageError("missing argument: KEY")
    answer = locate_key(format_name, key, remote=how.remote, tape=how.tape, **format_options(option))
    if json:
        print_json(json_values(answer))
    else:
        for name, value in answer.items():
            print_line(f"{name}: {value}")
    return 0


def _refuse_unknown(shard: Shard) -> None:
    if shard.damage is not None and not shard.fields and len(shard.sections) <= 1:
        raise shard.damage


def _which_file(uri: str, shard: Shard) -> str:
    from shardcore.shards.dataset import DataSet

    if isinstance(shard, DataSet) and shard.members:
        more = f", or another of its {len(shard.members)} files" if len(shard.members) > 1 else ""
        return f"{uri} is a folder: add --in {shard.members[0].name}{more}"
    return f"{uri} is a folder: give one of its files"


def _load_small(shard: Shard) -> None:
    """Load the index unless it is large, so that the tree shows damage in it."""
    if shard.index_cost <= SMALL_INDEX:
        _load(shard)


def _count(shard: Shard) -> None:
    from shardcore.shards.dataset import DataSet

    if isinstance(shard, DataSet) and shard.joins:
        with progress_bar("counting the objects") as progress:
            shard.count_objects(progress)
    elif not isinstance(shard, DataSet) or shard.declared_objects is None:
        # The objects of a bcolz column or table are counted by file names.
        _load(shard)


def _load(shard: Shard) -> None:
    try:
        with progress_bar("loading the index") as progress:
            shard.load_index(progress)
    except FormatError as error:
        warn(f"damaged: {error_line(error)}")


def _cut(text: str) -> str:
    if len(text) <= FIELD_LETTERS:
        return text
    return f"{text[:FIELD_LETTERS]}… ({len(text)} characters; --json has all)"


def _decoded_fields(shard: Shard) -> dict[str, str]:
    """Return the numeric header fields as text, as the tree shows them: `2 crc32`, `never expires`."""
    found: dict[str, str] = {}
    if shard.source is None:
        return found
    numbers = {name for name, value in shard.fields.items() if isinstance(value, int)}
    try:
        for section in shard.tree.children:
            prefix = section.name.replace(" ", "_")
            if any(name.startswith(f"{prefix}.") for name in numbers):
                fields = list(islice(section.children, MOST_FIELDS))
                fields += [inner for one in fields if one.expandable for inner in islice(one.children, MOST_FIELDS)]
                texts = {f"{prefix}.{field.name}": field.text for field in fields}
                found |= {name: text for name, text in texts.items() if name in numbers}
    except FormatError:
        pass  # the fields are then printed as plain numbers
    return found


def _node_line(node: Node) -> str:
    value = f" = {node.text}" if node.text else ""
    error = f"  !! {node.error}" if node.error else ""
    bits = f" · {bits_text(*node.bits)}" if node.bits else ""
    return f"{node.name}{value}  [{range_text(node.span.start, node.span.stop)}{bits}]{error}"


def _print_tree(node: Node, depth: int, level: int, count: NodeCount) -> None:
    print_line("  " * level + _node_line(node))
    if depth <= 0:
        return
    children, error = children_of(node, count)
    for child in children:
        _print_tree(child, depth - 1, level + 1, count)
    if error:
        print_line("  " * (level + 1) + f"!! {error}")
