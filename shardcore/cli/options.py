"""The options that commands share, stated once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

import shardcore
from shardcore.errors import FormatError, NotAShard, SourceError, StoreUntrusted, UsageError, reason_of
from shardcore.model.options import Option, OptionType
from shardcore.model.text import short
from shardcore.progress import Progress, no_progress
from shardcore.sources.remote.address import is_address, shown_address
from shardcore.sources.where import local_path

if TYPE_CHECKING:
    from shardcore.shards.shard import Shard
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import RequestLog

Uri = Annotated[
    str,
    typer.Argument(
        metavar="URI",
        help="A file, the folder of a data set, or an address: s3://, gs://, https://.",
        show_default=False,
    ),
]
Keys = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY", help="Keys, in the text form of the format.", show_default=False),
]
KeyFile = Annotated[
    str | None,
    typer.Option("--keys", metavar="FILE|-", help="More keys, one per line: as they are, or as JSON strings."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, a stable contract for programs.")]


def size_from(text: str) -> int:
    """Return a number of bytes; K, M and G are powers of 1024.

    Raises:
        typer.BadParameter: It is none.
    """
    try:
        return int(Option("", OptionType.SIZE, "").value_of(text))
    except UsageError as error:
        raise typer.BadParameter(error.message.removeprefix(" ").rpartition(", not ")[0]) from error


Limit = Annotated[
    int,
    typer.Option(
        "--limit-bytes",
        metavar="N",
        help="Refuse decoded objects over N bytes (1K, 1M); 0: none.",
        parser=size_from,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]


@dataclass(frozen=True, slots=True)
class Opening:
    """Options of all commands that open a shard.

    Attributes:
        format: The name of the format, instead of recognising it.
        options: Values of options that formats declare, by name.
        remote: How remote things are reached; None as usual.
        tape: Where requests are noted; None when nobody wants to know.
        jobs: How many members or objects are worked on at the same time; None as usual.
    """

    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    remote: RemoteOptions | None = None
    tape: RequestLog | None = None
    jobs: int | None = None

    def open(self, uri: str, *, partial: bool = False) -> Shard:
        """Opens what a command names."""
        _tell_interrupted(uri)
        try:
            return self._open(uri, self.remote, partial=partial)
        except StoreUntrusted as error:
            if not sys.stdin.isatty():
                raise
            sys.stderr.write(f"{error.message}. {error.question} [y/N] ")
            sys.stderr.flush()
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise
            from shardcore.sources.remote.options import RemoteOptions

            agreed = replace(self.remote or RemoteOptions(), trusted=frozenset(error.stores))
            return self._open(uri, agreed, partial=partial)

    def _open(self, uri: str, remote: RemoteOptions | None, *, partial: bool) -> Shard:
        with progress_bar("opening") as progress:
            shard = shardcore.open(
                uri,
                format=self.format,
                partial=partial,
                progress=progress,
                remote=remote,
                tape=self.tape,
                jobs=self.jobs,
                **self.options,
            )
        try:
            self._check_options(shard)
        except UsageError:
            shard.close()
            raise
        return shard

    def _check_options(self, shard: Shard) -> None:
        """Refuse options that the format of a shard does not have.

        Raises:
            UsageError: One of them was given.
        """
        given = [name for name, value in self.options.items() if value not in (None, False, "") and name != "deleted"]
        if not given:
            return
        from shardcore.model.options import OptionPurpose
        from shardcore.shards.registry import all_formats

        formats = {one.name: {option.name for option in one.options_for(OptionPurpose.OPEN)} for one in all_formats()}
        for name in given:
            users = [format for format, options in formats.items() if name in options]
            if shard.format in formats and shard.format not in users:
                raise UsageError(f"--{name} is not supported for {shard.format} (supported: {', '.join(users)})")

    def open_rest(self, uri: str) -> Shard:
        """Opens strictly; of a damaged file, what is left, if it has objects. `Shard.damage` tells.

        Raises:
            FormatError: Nothing useful is left.
        """
        try:
            return self.open(uri)
        except (FormatError, NotAShard):
            shard = self.open(uri, partial=True)
            if len(shard.objects) or shard.damage is None:
                return shard
            shard.close()
            raise


def shown_uri(uri: str) -> str:
    """Return what a command names, as it may be shown: of an address without its query and login."""
    return shown_address(uri)


def _tell_interrupted(uri: str) -> None:
    """Says on standard error that an edit of a local file did not come to its end."""
    if not is_address(uri) and os.path.lexists(f"{os.path.realpath(local_path(uri))}.undo"):
        from shardcore.cli.output import warn
        from shardcore.writing.undo import interrupted

        if told := interrupted(uri):
            warn(told)


USUAL = Opening()
"""Recognised, without options; what a command gets without flags."""

# The flags of every command that opens something: `--format`, and one for each option that deserves one. Formats
# declare the options; a command that prints its help must not import the formats to learn of them.
_FORMAT = Annotated[str | None, typer.Option("--format", metavar="NAME", help="The format, instead of recognising it.")]
_FLAGS: dict[str, tuple[Any, Any]] = {
    "spec": (
        Annotated[
            str | None, typer.Option("--spec", metavar="JSON|FILE", help="neuroglancer: the sharding specification.")
        ],
        None,
    ),
    "xorbs": (
        Annotated[str | None, typer.Option("--xorbs", metavar="DIR", help="mdb: the folder that holds the xorbs.")],
        None,
    ),
    "date": (
        Annotated[
            str | None,
            typer.Option("--date", metavar="DATE", help="des: created_at of the objects; looks in shards of that day."),
        ],
        None,
    ),
    "zones": (
        Annotated[
            str | None,
            typer.Option("--zones", metavar="FILE", help="des: this zones file, whose stores are trusted."),
        ],
        None,
    ),
    "deleted": (Annotated[bool, typer.Option("--deleted", help="Read tombstoned objects, too.")], False),
}


# The flags of whatever may be remote, by the names that `RemoteOptions` has; two are called otherwise there.
_REMOTE: dict[str, tuple[Any, Any]] = {
    "endpoint_url": (
        Annotated[str | None, typer.Option("--endpoint-url", metavar="URL", help="Remote: a store that speaks S3.")],
        None,
    ),
    "region": (
        Annotated[str | None, typer.Option("--region", metavar="NAME", help="Remote: region of the bucket.")],
        None,
    ),
    "profile": (
        Annotated[str | None, typer.Option("--profile", metavar="NAME", help="Remote: sign with this AWS profile.")],
        None,
    ),
    "no_sign_request": (
        Annotated[bool, typer.Option("--no-sign-request", help="Remote: send anonymous requests.")],
        False,
    ),
    "requester_pays": (
        Annotated[bool, typer.Option("--requester-pays", help="Remote: you pay for what is read.")],
        False,
    ),
    "addressing": (
        Annotated[str | None, typer.Option(metavar="path|virtual", help="Remote: how buckets are named.")],
        None,
    ),
    "limit_requests": (
        Annotated[int | None, typer.Option("--limit-requests", metavar="N", min=1, help="Remote: at most N requests.")],
        None,
    ),
    "limit_fetch": (
        Annotated[
            int | None, typer.Option(metavar="BYTES", parser=size_from, help="Remote: at most so many bytes (1K, 1M).")
        ],
        None,
    ),
}
_TAPE = Annotated[
    str | None, typer.Option("--tape", metavar="FILE|-", help="Remote: write the request log; print its sum.")
]

_YES = Annotated[bool, typer.Option("--yes", "-y", help="Connect without asking to stores that a file names.")]

_JOBS = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", min=1, help="Work on N members or objects at the same time."),
]


def opens(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command with a parameter `how: Opening` the flags that say how to open."""
    return _with_flags(command, _FLAGS)


def reaches(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of remote addresses to a command with format options of its own."""
    return _with_flags(command, {})


def opens_local(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of a command that changes a local file: those of `opens` without remote ones."""
    return _with_flags(command, _FLAGS, local=True)


def _with_flags(
    command: Callable[..., int], flags: dict[str, tuple[Any, Any]], *, local: bool = False
) -> Callable[..., int]:
    hints = get_type_hints(command, include_extras=True)
    own = [one.replace(annotation=hints[one.name]) for one in signature(command).parameters.values()]
    own = [one for one in own if one.name != "how"]
    first = {"format_name": (_FORMAT, None)} if flags else {}
    common = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in (first | flags).items()
    ]
    remote_flags = [] if local else [(name, *flag) for name, flag in _REMOTE.items()]
    remote_flags += [] if local else [("tape", _TAPE, None), ("jobs", _JOBS, None)]
    asks = flags and all(one.name != "yes" for one in own)
    if asks:
        common.append(Parameter("yes", Parameter.KEYWORD_ONLY, default=False, annotation=_YES))
    common += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, annotation, default in remote_flags
    ]

    @wraps(command)
    def run(**given: Any) -> int:
        name, target = given.pop("format_name", None) if flags else None, given.pop("tape", None)
        values = {flag: given.pop(flag) for flag in flags}
        reached = {flag: given.pop(flag, default) for flag, (_, default) in _REMOTE.items()}
        yes = given.pop("yes") if asks else given.get("yes", False)
        remote = _remote_options(reached | ({"trusted": frozenset("*")} if yes else {}))
        jobs = given.pop("jobs", None)
        with _taped(target) as tape:
            return command(**given, how=Opening(name, values, remote, tape, jobs))

    parameters = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own] + common
    run.__signature__ = Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": int}
    return run


def _remote_options(given: dict[str, Any]) -> RemoteOptions | None:
    """Return what the flags say about remote things; None when they say nothing.

    Raises:
        UsageError: They contradict each other.
    """
    if not any(value not in (None, False) for value in given.values()):
        return None
    from shardcore.sources.remote.options import RemoteOptions

    anonymous = True if given.pop("no_sign_request") else None
    return RemoteOptions(anonymous=anonymous, **given)


@contextmanager
def _taped(target: str | None) -> Iterator[RequestLog | None]:
    """Writes the tape at the end, whatever became of the command; and what it notes, in any case.

    Raises:
        SourceError: It cannot be written.
    """
    from shardcore.cli.output import warn, write_text_to
    from shardcore.sources.remote.request_log import RequestLog

    tape = RequestLog()
    try:
        yield tape
    finally:
        for note in tape.notes:
            warn(note)
        if target is not None:
            warn(tape.summary())
            write_text_to(target, tape.lines())


def all_keys(keys: list[str] | None, key_file: str | None) -> list[str]:
    """Return the keys of the command line and of `--keys`.

    Raises:
        UsageError: A line begins with a double quote, but is not a JSON string.
        SourceError: The file cannot be read.
    """
    found = list(keys or [])
    if key_file is None:
        return found
    from shardcore.sources.local import read_side_file

    name = "standard input" if key_file == "-" else key_file
    try:
        # Not as text: that would replace the line ends inside a key.
        data = sys.stdin.buffer.read() if key_file == "-" else read_side_file(key_file, named=True)
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot read the keys in {name}: it is not UTF-8 text") from error
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read the keys in {name}: {reason_of(error)}") from error
    # Not `splitlines`: keys may hold other line ends as they are.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            found.append(_key_of(line.removesuffix("\r"), f"{name}, line {number}"))
    return found


def _key_of(line: str, place: str) -> str:
    """Return the key that a line of `--keys` states: a JSON string, or the line as it is.

    Raises:
        UsageError: It begins with a double quote, but is not a JSON string.
    """
    from shardcore.codecs.json_text import parse_json

    if not line.lstrip().startswith('"'):
        return line
    try:
        key = parse_json(line, "the key")
    except FormatError:
        key = None
    if not isinstance(key, str):
        text = "begins with a double quote, but is not a JSON string"
        raise UsageError(f'{place}: {short(line.strip())} {text}; write the quote in a key as "\\""')
    return key


def byte_range(text: str | None) -> tuple[int, int] | None:
    """`A:B` as a half-open range.

    Raises:
        UsageError: It is not of that form.
    """
    if text is None:
        return None
    first, _, last = text.partition(":")
    start, stop = whole_number(first or "0"), whole_number(last)
    if start is None or stop is None:
        raise UsageError(f"--range is A:B, two offsets of bytes, not {short(text)}")
    if start > stop:
        raise UsageError(f"--range {text}: A exceeds B")
    return start, stop


def whole_number(text: str) -> int | None:
    """A number of at most 64 bits, decimal or with `0x`; None for anything else."""
    try:
        number = int(text, 0)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 64 else None


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """A progress bar on a terminal; elsewhere nothing. It appears when something takes long."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(title), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=max(total, 1))

        yield progress


def format_options(pairs: list[str] | None) -> dict[str, str]:
    """`NAME=VALUE` options of a format, as texts by name; what they mean the format declares.

    Raises:
        UsageError: One is not of that form, or is given twice.
    """
    found: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"-O takes NAME=VALUE, not {short(pair)}")
        if name in found:
            raise UsageError(f"-O {name} is given twice")
        found[name] = value
    return found
