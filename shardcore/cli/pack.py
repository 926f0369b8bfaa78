"""Commands `pack`, `convert` and `rekey`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import (
    FORMATS_PANEL,
    NO_WORKERS,
    USUAL,
    Json,
    Opening,
    Uri,
    Workers,
    check_flags,
    format_options,
    one_of,
    opens,
    opens_and_writes,
    target_of,
    writes,
)
from shardcore.cli.output import (
    OutputTarget,
    emit_json,
    emit_line,
    print_json,
    print_line,
    progress_bar,
    warn,
    write_text_to,
)
from shardcore.dataclasses import replace
from shardcore.model.finding import Report, Severity
from shardcore.model.options import OptionPurpose
from shardcore.model.text import long_size, plural, range_text
from shardcore.operations.description import Convert, Pack, Rekey, given
from shardcore.shards.registry import FORMATS, format_of

if TYPE_CHECKING:
    from shardcore.operations.pack import Packed
    from shardcore.writing.inputs import Skipped
    from shardcore.writing.manifest import Loss
    from shardcore.writing.plan import Plan, PlannedFile

ESTIMATE = "≈ "
MOST_TOLD = 20
"""Maximum number of skipped inputs that are printed as text."""


def _options_of(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return completions of `-O NAME=VALUE`; values are proposed for options with a fixed choice."""
    # Arguments before an incomplete option are not parsed.
    name = next((word for word in (ctx.params.get("format"), *ctx.args) if word in FORMATS), "")
    found = format_of(name).options_for(OptionPurpose.WRITE) if name else ()
    pairs = [f"{one.name}={value}" for one in found if not one.hidden for value in one.choices or ("",)]
    return one_of("help", *pairs)(incomplete)


Options = Annotated[
    list[str] | None,
    typer.Option(
        "-O",
        metavar="NAME=VALUE",
        help="An option of the format, such as seed=1; -O help lists them.",
        rich_help_panel=FORMATS_PANEL,
        autocompletion=_options_of,
    ),
]


@writes
def pack(asked: Pack, option: Options = None, json: Json = False, how: Opening = USUAL) -> int:
    """Pack files into a new shard, and verify it by reading it back.

    Examples:
        shardcore pack des out.des folder
        shardcore pack swh out.shard folder -O seed=7 --plan
        shardcore pack bloscpack out.blp -O help
    """
    from shardcore.operations.pack import pack as pack_files

    if option == ["help"]:
        return print_options(asked.format)
    options = written_with(option, asked.format, how)
    with (
        target_of(str(asked.out), how, force=asked.force) as target,
        _report_file(asked.report) as report,
    ):
        settings = given(asked) | {"options": options, "report": report}
        with progress_bar("packing") as progress:
            done = pack_files(asked.format, target.path, asked.inputs, **settings, jobs=how.jobs, progress=progress)
        if report == asked.report or not report or not report.exists():
            return sent(done, target, as_json=json)
        write_text_to("-", report.read_text(encoding="utf-8"))
        # Standard output contains only the report.
        with redirect_stdout(sys.stderr):
            return sent(done, target, as_json=json)


@contextmanager
def _report_file(report: Path | None) -> Iterator[Path | None]:
    """Yield the path of the report; a temporary file if the report goes to standard output."""
    if str(report) != "-":
        yield report
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="shardcore-") as folder:
        yield Path(folder) / "report.json"


@opens_and_writes
def convert(
    uri: Uri,
    asked: Convert,
    option: Options = None,
    workers: Workers = NO_WORKERS,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Write all objects of a shard into a new one of another format.

    Examples:
        shardcore convert contents.des swh copy.shard --key sha256
    """
    from shardcore.operations.convert import convert as convert_shard

    if option == ["help"]:
        return print_options(asked.format)
    settings = given(asked) | {"options": written_with(option, asked.format, how), "jobs": how.jobs}
    # The conversion reads a manifest from standard input, which is then not available for opening the shard.
    how = replace(how, options={**how.options, "manifest": asked.manifest if asked.manifest != "-" else None})
    settings["deleted"] = bool(how.options["deleted"])
    with (
        target_of(str(asked.out), how, force=asked.force) as target,
        workers.pool() as tasks,
    ):
        with how.open(uri) as shard, progress_bar("converting") as progress:
            shard.tasks = tasks
            settings |= {"progress": progress, "checking": progress}
            done = convert_shard(shard, asked.format, target.path, **settings)
        return sent(done, target, as_json=json)


@opens
def rekey(uri: Uri, asked: Rekey, option: Options = None, json: Json = False, how: Opening = USUAL) -> int:
    """Rewrite a Xet shard with an HMAC key for its chunk hashes, another expiry, or both.

    Examples:
        shardcore rekey store.mdb new.mdb --expiry 2027-01-01
    """
    from shardcore.operations.edit import edit_for
    from shardcore.operations.edit import rekey as rekey_shard

    with target_of(str(asked.out), how, force=asked.force) as target, how.open(uri) as shard:
        edit_for(shard, "rekey")
        if option == ["help"]:
            return print_options(shard.format, OptionPurpose.REKEY)
        settings = {name: value for name, value in given(asked).items() if value is not None}
        done = rekey_shard(shard, target.path, **format_options(option) | settings)
        return sent(done, target, as_json=json)


def print_options(format_name: str, purpose: OptionPurpose = OptionPurpose.WRITE) -> int:
    options = [one for one in format_of(format_name).options_for(purpose) if not one.hidden]
    width = max((len(option.name) for option in options), default=0)
    for option in options:
        choices = f" One of {', '.join(option.choices)}." if option.choices else ""
        print_line(f"{option.name:<{width}}  {option.help}{choices}")
    return 0


def written_with(option: list[str] | None, format_name: str, how: Opening) -> dict[str, Any]:
    """Return the options for writing, from `-O` and from flags with the same meaning: `--spec` is `-O spec=`."""
    from shardcore.shards.opening import read_json_at

    given = dict(format_options(option))
    flags = check_flags(how.written, format_name, OptionPurpose.WRITE)
    for one in format_of(format_name).options_for(OptionPurpose.WRITE):
        value = read_json_at(one, flags.get(one.name), format_name, how.remote, how.tape)
        if value is not None:
            given[one.name] = value
    return given


def sent(done: Packed, target: OutputTarget, *, as_json: bool) -> int:
    """Upload the result unless it has errors, print it, and return the exit code."""
    if done.written and (done.report is None or done.report.ok):
        target.send()
    return print_packed(done, target.path, as_json=as_json, named=target.named)


def print_packed(done: Packed, out: str, *, as_json: bool, named: Callable[[str | Path], str] = str) -> int:
    """Print the result or the plan; return the exit code. `named` returns the name of a path for display."""
    for note in done.notes:
        warn(note)
    if done.plan is not None:
        _print_plan(done.plan, out, done.losses, as_json=as_json, named=named)
    findings = done.report.findings if done.report is not None else ()
    unchecked = [finding.message for finding in findings if finding.code.endswith(".unchecked")]
    for written in done.written:
        line = {
            "path": named(written.path),
            "objects": written.objects,
            "size": written.size,
            "sha256": written.sha256,
        }
        if as_json:
            emit_json(line | {"unchecked": unchecked})
        else:
            emit_line("  ".join(str(value) for value in line.values()))
    for message in unchecked:
        warn(message)
    _print_skipped(done.skipped, as_json=as_json)
    for path in done.removed:
        warn(f"{path} was removed: it is not part of the new data set")
    return _print_report(done.report) or int(bool(done.skipped or unchecked))


def _print_skipped(skipped: Sequence[Skipped], *, as_json: bool) -> None:
    if as_json:
        for one in skipped:
            emit_json({"skipped": one.name, "error": one.why})
        return
    for one in skipped[:MOST_TOLD]:
        warn(f"skipped: {one.why}")
    if len(skipped) > MOST_TOLD:
        warn(f"skipped: {plural(len(skipped) - MOST_TOLD, 'more input')}; --json or --report lists all")


def _print_report(report: Report | None) -> int:
    for finding in report.findings if report is not None else ():
        if finding.severity is Severity.ERROR:
            warn(f"the result has an error: {finding.code}: {finding.message}")
    return int(report is not None and not report.ok)


def _print_plan(
    plan: Plan, out: str, losses: Sequence[Loss], *, as_json: bool, named: Callable[[str | Path], str]
) -> None:
    if as_json:
        files = [_planned_json(file, named(_planned_path(file, out))) for file in plan.files]
        print_json({"files": files, "exact": plan.exact, "losses": [one.to_json() for one in losses]})
        return
    about = "" if plan.exact else ESTIMATE
    for file in plan.files:
        size = f"{about}{long_size(file.size)}"
        print_line(f"{named(_planned_path(file, out))}: {size}, {plural(len(file.objects), 'object')}")
        for section in file.sections:
            print_line(f"  {section.name:<16} {range_text(section.start, section.stop)}")
        for size, key in zip(file.objects[:].size.tolist(), file.objects.keys[:], strict=True):
            print_line(f"  {size:>12}  {key}")


def _planned_path(file: PlannedFile, out: str) -> str:
    from shardcore.shards.opening import means_folder

    return str((Path(out) if means_folder(out) else Path(out).parent) / file.name)


def _planned_json(file: PlannedFile, path: str) -> dict[str, Any]:
    columns = file.objects[:]
    places = zip(columns.size.tolist(), columns.start.tolist(), columns.stop.tolist(), strict=True)
    objects = [
        {"key": key, "size": size, "start": start if start >= 0 else None, "stop": stop if stop >= 0 else None}
        for key, (size, start, stop) in zip(file.objects.keys[:], places, strict=True)
    ]
    sections = [{"name": s.name, "role": s.role.value, "start": s.start, "stop": s.stop} for s in file.sections]
    return {"path": path, "size": file.size, "sections": sections, "objects": objects}
