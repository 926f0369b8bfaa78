"""Options shared by several commands, and decorators that add them to a command."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from enum import EnumType, StrEnum
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

import shardcore
from shardcore.cli.output import OutputTarget, confirmed, progress_bar, warn, write_text_to
from shardcore.dataclasses import MISSING, dataclass, field, is_dataclass, replace
from shardcore.errors import Forbidden, FormatError, NotAShard, SourceError, StoreUntrusted, UsageError, reported_as
from shardcore.model.budget import allowing
from shardcore.model.inside_path import inside_link, split_inside
from shardcore.model.options import Option, OptionPurpose, OptionType
from shardcore.model.text import short
from shardcore.operations.description import FORCE, KEYS, LIMIT, Convert, Setting, setting, settings_of
from shardcore.shards.registry import FORMATS, all_formats
from shardcore.sources.base import Source, on_failure, opening_whole
from shardcore.sources.location import local_path
from shardcore.sources.remote.address import is_address, shown_address

if TYPE_CHECKING:
    from shardcore.shards.format import Format
    from shardcore.shards.shard import Shard
    from shardcore.shards.task_pool import TaskPool
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import RequestLog

FORMATS_PANEL, REMOTE_PANEL, WORKERS_PANEL = "Formats", "Remote files", "Workers"
"""Panels in the help of a command, after the general options."""


def one_of(*values: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def format_argument(words: str, *names: str) -> Any:
    return typer.Argument(metavar="FORMAT", help=words, show_default=False, autocompletion=one_of(*names))


Uri = Annotated[
    str,
    typer.Argument(
        metavar="URI",
        help="A file, folder, or address (s3://, gs://, https://, hf://); FILE#/KEY opens an object inside FILE.",
        show_default=False,
    ),
]
Keys = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY", help=KEYS.help, show_default=False),
]
KeyFile = Annotated[
    str | None,
    typer.Option("--keys", metavar="FILE|-", help="File with keys, one per line, as plain text or JSON strings."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs; its format is stable.")]


def size_from(text: str) -> int:
    """Parse a number of bytes; K, M and G are powers of 1024."""
    try:
        return int(Option("", OptionType.SIZE, "").value_of(text))
    except UsageError as error:
        raise typer.BadParameter(error.message.removeprefix(" ").rpartition(", not ")[0]) from error


Limit = Annotated[
    int,
    typer.Option(
        "--limit-bytes",
        metavar="N",
        help=LIMIT,
        parser=size_from,
    ),
]
Force = Annotated[bool, typer.Option("--force", help=FORCE.help)]


@dataclass(frozen=True, slots=True)
class Opening:
    """Options of all commands that open a shard.

    Attributes:
        options: Values of the formats' options for opening, by name.
        written: Values of the formats' options for writing, by name.
        remote: Options for remote files; None for the defaults.
        stdin: Standard input as a file, if the URI is `-`; else None.
    """

    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    remote: RemoteOptions | None = None
    tape: RequestLog | None = None
    jobs: int | None = None
    written: Mapping[str, Any] = field(default_factory=dict)
    stdin: Source | None = None

    def where(self, uri: str) -> str | Source:
        return uri if uri != "-" or self.stdin is None else self.stdin

    def open(self, uri: str, *, partial: bool = False) -> Shard:
        _warn_interrupted(uri)
        try:
            return self._open(uri, self.remote, partial=partial)
        except StoreUntrusted as error:
            if not sys.stdin.isatty() or not confirmed(f"{error.message}. {error.question}"):
                raise
            from shardcore.sources.remote.options import RemoteOptions

            agreed = replace(self.remote or RemoteOptions(), trusted=frozenset(error.stores))
            return self._open(uri, agreed, partial=partial)

    def _open(self, uri: str, remote: RemoteOptions | None, *, partial: bool) -> Shard:
        with progress_bar("opening") as progress:
            shard = shardcore.open(
                self.where(uri),
                format=self.format,
                partial=partial,
                progress=progress,
                remote=remote,
                tape=self.tape,
                jobs=self.jobs,
                **self.options,
            )
        with on_failure(shard.close):
            if shard.format in FORMATS:
                check_flags(self.options, shard.format, OptionPurpose.OPEN)
        return shard

    def open_rest(self, uri: str, *, whole: bool = False) -> Shard:
        """Open a shard, or the readable part of a damaged one. With `whole`, try to fetch a remote file in one go."""
        try:
            with opening_whole(whole):
                return self.open(uri)
        except (FormatError, NotAShard):
            shard = self.open(uri, partial=True)
            if len(shard.objects) or shard.damage is None:
                return shard
            shard.close()
            raise


def target_of(out: str, how: Opening, *, force: bool) -> AbstractContextManager[OutputTarget]:
    """Return the target of a command's output: a local path, or an address, whose object store is checked first."""
    if not is_address(out):
        return nullcontext(OutputTarget(out))
    from shardcore.cli.output_targets import remote_target

    return remote_target(out, how.remote, how.tape, how.jobs, force=force)


def only(when: str, applies: object, **given: object) -> None:
    """Raise UsageError if an option has a value although `applies` is false; the message is `… only used <when>`."""
    for name, value in given.items():
        if value and not applies:
            raise UsageError(f"--{name.replace('_', '-')} is only used {when}")


def shown_uri(uri: str) -> str:
    """Return a URI for display, without query and login."""
    from shardcore.shards.opening import chosen_address  # numpy is loaded with it

    file, path, _ = split_inside(chosen_address(uri))
    return inside_link(shown_address(file), path)


def _warn_interrupted(uri: str) -> None:
    uri, _, _ = split_inside(uri)
    if not is_address(uri) and os.path.lexists(f"{os.path.realpath(local_path(uri))}.undo"):
        from shardcore.writing.undo import interrupted

        if message := interrupted(uri):
            warn(message)


def opening_flags() -> tuple[str, ...]:
    return tuple(f"--{name.replace('_', '-')}" for name in _format_flags(OptionPurpose.OPEN))


def check_flags(given: Mapping[str, Any], format_name: str, purpose: OptionPurpose) -> dict[str, Any]:
    """Return the options that are set. UsageError if the format does not have one, except for switches for opening."""
    values = {name: value for name, value in given.items() if value not in (None, False, "")}
    for name, value in values.items():
        users = [one.name for one in all_formats() if any(name == option.name for option in one.options_for(purpose))]
        if users and format_name not in users and not (value is True and purpose is OptionPurpose.OPEN):
            raise UsageError(f"--{name} is not supported for {format_name} (supported: {', '.join(users)})")
    return values


SMALL_INDEX = 64 << 20
"""Maximum size of an index that is loaded automatically."""

USUAL = Opening()
"""Options of a command that was called without any."""

LOCAL = "local"


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of commands that process shards by workers; a command may have only some of them."""

    cluster: str | None = setting(
        None,
        "Process the shards in N processes, or on the workers of a Dask scheduler.",
        "ADDRESS|local[:N]",
        panel=WORKERS_PANEL,
    )
    state: Path | None = setting(
        None, "Save the results of finished shards; a later run resumes.", "FILE", file=True, panel=WORKERS_PANEL
    )
    shared: bool = setting(
        False, "With --cluster ADDRESS: the workers have DIR under the same path.", panel=WORKERS_PANEL
    )
    send_keys: bool = setting(
        False, "With --cluster tls://…: also send the login or signature of an address.", panel=WORKERS_PANEL
    )

    @property
    def processes(self) -> int | None:
        """Number of local worker processes; None for a Dask cluster, or if no workers were requested."""
        kind, colon, count = (self.cluster or "").partition(":")
        if kind != LOCAL:
            return None
        from shardcore.shards.task_pool import usual_processes

        if colon and not (count.isascii() and count.isdigit() and int(count) > 0):
            raise UsageError(f"--cluster local:N takes a number of processes, not {short(count)}")
        return int(count) if count else usual_processes()

    def check_target(self, out: str) -> None:
        """Raise UsageError if workers on other machines would write to a local folder, unless `--shared` is set."""
        elsewhere = self.cluster is not None and self.processes is None
        only("with --cluster ADDRESS", elsewhere, shared=self.shared)
        if elsewhere and not self.shared and not is_address(out):
            where = f"{out} is a local folder, which other machines cannot see"
            raise UsageError(f"{where}: give an s3:// address, or --shared if the workers have it under the same path")

    @contextmanager
    def pool(self) -> Iterator[TaskPool | None]:
        """Start or connect to the workers; yield None if none were requested.

        Raises:
            UsageError: The options do not fit together, or Dask is not installed.
            SourceError: The scheduler does not respond.
        """
        if self.cluster is None:
            only("with --cluster", False, state=self.state, send_keys=self.send_keys)
            yield None
            return
        from shardcore.shards.task_pool import TaskState, dask_cluster, local_processes

        with ExitStack() as ends:
            state = TaskState(self.state) if self.state is not None else None
            if state is not None:
                ends.callback(state.close)
            if (count := self.processes) is not None:
                yield ends.enter_context(local_processes(count, state=state))
            else:
                yield ends.enter_context(dask_cluster(self.cluster, keys=self.send_keys, state=state))


Workers = Annotated[WorkerOptions, "cluster", "send_keys"]
ResumingWorkers = Annotated[WorkerOptions, "cluster", "state", "send_keys"]
NO_WORKERS = WorkerOptions()

SOURCE = "source_"
"""Prefix of the parameter for an option for opening if an option for writing has the same name."""


def _format_flags(
    purpose: OptionPurpose, beside: Container[str] = (), formats: Iterable[Format] | None = None
) -> dict[str, tuple[Any, Any]]:
    """Return annotation and default of the formats' options for a purpose, by name; names in `beside` get a prefix."""
    users: dict[str, list[str]] = {}
    options: dict[str, Option] = {}
    for one in all_formats() if formats is None else formats:
        for option in one.options_for(purpose):
            if option.flag is not None:
                users.setdefault(option.name, []).append(one.name)
                options.setdefault(option.name, option)
    names = {name: SOURCE + name if name in beside else name for name in options}
    return {names[name]: _flag_of(names[name], option, ", ".join(users[name])) for name, option in options.items()}


def _flag_of(name: str, option: Option, users: str) -> tuple[Any, Any]:
    words = f"{users}: {option.help[0].lower()}{option.help[1:]}"
    metavar = None if option.type is OptionType.FLAG else option.flag
    return _of_formats(words, metavar, f"--{name.replace('_', '-')}")


def _flag(
    words: str, metavar: str | None, *flags: str, panel: str | None = REMOTE_PANEL, kind: Any = str, **settings: Any
) -> tuple[Any, Any]:
    """Return annotation and default of an option; without `metavar` it is a switch."""
    option = typer.Option(*flags, help=words, metavar=metavar, rich_help_panel=panel, **settings)
    return (Annotated[bool, option], False) if metavar is None else (Annotated[kind | None, option], None)


WORK = "Read and decompress up to N bytes (1K, 1M), whatever the file size; 0: no limit."
# Flags by parameter: `_OPENING` for commands that open a file, `_COMMON` for all that read or write.
_of_formats = partial(_flag, panel=FORMATS_PANEL)
_OPENING = {
    "source_format": _of_formats(
        "Use this format instead of detecting it.", "NAME", "--format", autocompletion=one_of(*FORMATS)
    ),
    "manifest": _of_formats("The manifest of convert or extract: has the sharding specification.", "FILE|-"),
    "yes": _of_formats("Open stores and folders that a file refers to, without asking.", None, "--yes", "-y"),
    "opening_options": _of_formats(
        "Any other option for opening, such as n_bits=8.", "NAME=VALUE", "-O", kind=list[str]
    ),
    "limit_work": _flag(WORK, "N", panel=None, kind=int, parser=size_from),
}
_COMMON = {
    "tape": _flag("Write the request log; print the totals.", "FILE|-", "--request-log", "--tape"),
    "jobs": _flag("Process N shards or objects in parallel.", "N", panel=None, kind=int, min=1),
}

# Flags for remote files, by field of `RemoteOptions`, two of which have other names.
_REMOTE: dict[str, tuple[Any, Any]] = {
    "endpoint_url": _flag("Address of an S3-compatible store.", "URL", "--endpoint-url"),
    "region": _flag("Region of the bucket.", "NAME", "--region"),
    "profile": _flag("Sign with this AWS profile.", "NAME", "--profile"),
    "no_sign_request": _flag("Send anonymous requests.", None, "--no-sign-request"),
    "requester_pays": _flag("You pay for requests and transfer (requester pays).", None, "--requester-pays"),
    "give_up_slow": _flag("Abort if slower than 1 KB/s for 30 s.", None, "--give-up-slow"),
    "addressing": _flag(
        "Put the bucket in path or host name.", "path|virtual", "--addressing", autocompletion=one_of("path", "virtual")
    ),
    "limit_requests": _flag("Send at most N requests.", "N", "--limit-requests", kind=int, min=1),
    "limit_fetch": _flag("Fetch at most BYTES (1K, 1M).", "BYTES", "--limit-fetch", kind=int, parser=size_from),
}


def edits(command: Callable[..., int]) -> Callable[..., int]:
    """Decorate a command that edits a local file: add the options for opening the formats that support the edit."""
    users = [one for one in all_formats() if command.__name__ in one.edits]
    return _with_flags(command, opening=True, remote=False, formats=users)


def _with_flags(
    command: Callable[..., int],
    *,
    opening: bool = False,
    writing: bool = False,
    remote: bool = True,
    formats: Sequence[Format] | None = None,
) -> Callable[..., int]:
    hints = get_type_hints(command, include_extras=True)
    own, operations = list[Parameter](), dict[str, Any]()
    for one in signature(command).parameters.values():
        kind, *names = get_args(hints[one.name]) or (hints[one.name],)
        if is_dataclass(kind) and one.name != "how":
            operations[one.name] = kind
            own += _settings_as_flags(kind, names)
        elif one.name != "how":
            own.append(one.replace(annotation=hints[one.name]))
    to_write = _format_flags(OptionPurpose.WRITE) if writing else {}
    to_open = _format_flags(OptionPurpose.OPEN, to_write, formats) if opening else {}
    flags: dict[str, tuple[Any, Any]] = {"source_format": _OPENING["source_format"]} if opening else {}
    flags |= to_open | to_write
    # `convert` reads its own manifest, and `extract` writes one: theirs is another option of the same name.
    manifest = SOURCE * any(one.name == "manifest" for one in own) + "manifest"
    reads_manifest = opening and formats is None and Convert not in operations.values()
    if reads_manifest:
        flags[manifest] = _OPENING["manifest"]
    asks = opening and all(one.name != "yes" for one in own)
    if asks:
        flags["yes"] = _OPENING["yes"]
    # Without options for opening there is nothing that `-O` could set.
    with_options = bool(to_open) and all(one.name != "option" for one in own)
    if with_options:
        flags["opening_options"] = _OPENING["opening_options"]
    if opening:
        flags["limit_work"] = _OPENING["limit_work"]
    if remote:
        flags |= _REMOTE | _COMMON
    common = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in flags.items()
    ]

    @wraps(command)
    def run(**given: Any) -> int:
        stdin = [name for name in (*_SHARDS, *_LISTS) if given.get(name) == "-"]
        if command.__name__ in ("find", "append") and "-" in given.get("paths", given.get("inputs", ())):
            raise UsageError(f"{command.__name__} opens files by their names, which standard input does not have")
        if formats is not None and stdin == ["uri"]:
            raise UsageError(f"{command.__name__} changes a file in place, not standard input: give its name")
        name, target = given.pop("source_format", None), given.pop("tape", None)
        options = {flag.removeprefix(SOURCE): given.pop(flag) for flag in to_open}
        options |= {"manifest": given.pop(manifest)} if reads_manifest else {}
        options |= format_options(given.pop("opening_options")) if with_options else {}
        written = {flag: given.pop(flag) for flag in to_write}
        reached = {flag: given.pop(flag, default) for flag, (_, default) in _REMOTE.items()}
        yes = given.pop("yes") if asks else given.get("yes", False)
        jobs, work = given.pop("jobs", None), given.pop("limit_work", None)
        given |= {name: _as_given(kind, given) for name, kind in operations.items()}
        if "how" not in hints:
            return command(**given)
        more = ({"trusted": frozenset("*")} if yes else {}) | ({"threads": jobs} if jobs else {})
        reach = _remote_options(reached | more)
        with (
            _logged_requests(target) as tape,
            allowing(work),
            _standard_input(stdin) as file,
        ):
            return command(**given, how=Opening(name, options, reach, tape, jobs, written, file))

    parameters = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own] + common
    run.__signature__ = Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": int}
    return run


def _settings_as_flags(kind: Any, names: Sequence[str]) -> Iterator[Parameter]:
    """Yield the arguments of an operation, then its options, in the order of its fields; with `names` only those."""
    hints = get_type_hints(kind)
    for name, one, default in sorted(settings_of(kind), key=lambda found: not found[1].positional):
        if names and name not in names:
            continue
        if one.listed:
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Keys)
            yield Parameter("key_file", Parameter.KEYWORD_ONLY, default=None, annotation=KeyFile)
            continue
        flags = one.flags or (f"--{name.replace('_', '-')}",)
        annotation, usual = _flag_type(one, flags, hints[name], default)
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=usual, annotation=annotation)


def _flag_type(one: Setting, flags: Sequence[str], hint: Any, default: Any) -> tuple[Any, Any]:
    """Return annotation and default of a setting as typer reads them."""
    values = one.values or (tuple(hint) if isinstance(hint, EnumType) else ())
    more: dict[str, Any] = {"metavar": one.placeholder or None, "help": one.help}
    more |= {"autocompletion": one_of(*values)} if values else {}
    more |= {"rich_help_panel": one.panel} if one.panel else {}
    if one.formats:
        more["help"] = f"{one.help} ({', '.join(one.formats)})."
    kind: Any = str
    if one.unit == "bytes":
        kind, default = int, default if one.usual is None else one.usual
        more["parser"] = size_from
    elif not one.placeholder:
        kind, default = bool, default is True
    elif get_origin(hint) is Sequence:
        kind, default = list[str], None if default == () else default
    elif Path in get_args(hint) and str not in get_args(hint):
        kind = Path
        more |= {"dir_okay": False, "allow_dash": True} if one.file else {}
    if kind not in (bool, int):
        more["show_default"] = False
        default = None if isinstance(default, StrEnum) else default
    if one.positional:
        default = Parameter.empty if default is MISSING else default
        made: Any = typer.Argument(**more)
    else:
        made = typer.Option(*flags, **more)
    return Annotated[kind | None if default is None else kind, made], default


def _as_given(kind: Any, given: dict[str, Any]) -> Any:
    """Remove the settings of an operation from the `given` values of a command; return the operation with them."""
    values, hints = {}, get_type_hints(kind)
    for name, one, _ in settings_of(kind):
        value = given.pop(name, None)
        flag = f"--{name.replace('_', '-')}"
        if one.listed:
            value = all_keys(value, given.pop("key_file")) or None
        elif one.on is not True:
            value = one.on if value else None
        elif isinstance(hints[name], EnumType) and value is not None:
            if value not in list(hints[name]):
                *first, last = hints[name]
                raise UsageError(f"{flag} is {', '.join(first)} or {last}; not {short(value)}")
            value = hints[name](value)
        if one.forced is not None and given.get(one.forced[0]):
            if value not in (None, one.forced[1]):
                raise UsageError(f"--{one.forced[0]} contradicts {flag} {value}: give one of them")
            value = one.forced[1]
        if value is not None:
            values[name] = value
    return kind(**values)


# Decorators that add flags for remote files, opening and writing to a command with a parameter `how: Opening`.
# If opening and writing have a flag of one name, that of opening becomes `--source-NAME`.
takes_settings = partial(_with_flags, remote=False)
reaches = _with_flags
opens = partial(_with_flags, opening=True)
writes = partial(_with_flags, writing=True)
opens_and_writes = partial(_with_flags, opening=True, writing=True)


def _remote_options(given: dict[str, Any]) -> RemoteOptions | None:
    if not any(value not in (None, False) for value in given.values()):
        return None
    from shardcore.sources.remote.options import RemoteOptions

    anonymous = True if given.pop("no_sign_request") else None
    return RemoteOptions(anonymous=anonymous, **given)


_SHARDS, _LISTS = ("uri", "first", "second"), ("key_file", "manifest", "source_manifest")
"""Parameters for which `-` means standard input: shards, and lists of keys or files."""

_IN_MEMORY = 64 << 20
"""Maximum bytes of standard input that are kept in memory; larger input is kept in a temporary file."""


@contextmanager
def _standard_input(names: Sequence[str]) -> Iterator[Source | None]:
    """Yield a copy of standard input if a shard is `-`, else None; a pipe cannot be read at any offset, a copy can."""
    if len(names) > 1:
        raise UsageError("standard input can be read only once: give - for one file")
    if not {*_SHARDS} & {*names}:
        yield None
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("standard input is a terminal: redirect a file, or pipe the output of a program")
    from tempfile import SpooledTemporaryFile

    from shardcore.sources.memory import FileObjectSource

    with SpooledTemporaryFile(_IN_MEMORY, prefix="shardcore-") as copy:
        with reported_as("cannot read standard input"):
            shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)
        yield FileObjectSource(copy, "standard input")


@contextmanager
def _logged_requests(target: str | None) -> Iterator[RequestLog]:
    """Yield a request log; at the end, also after an error, print its notes, and write it to `target` if given."""
    from shardcore.sources.remote.request_log import RequestLog

    shown: list[str] = []

    def print_note(note: str) -> None:
        shown.append(note)
        warn(note)

    tape, notes = RequestLog(on_note=print_note), True
    try:
        yield tape
    except Forbidden:
        notes = False  # the notes would repeat the error: other files of the store were refused as well
        raise
    finally:
        for note in tape.notes if notes else ():
            if note not in shown:
                warn(note)
        if target is not None:
            warn(tape.summary())
            write_text_to(target, tape.lines())


def all_keys(keys: list[str] | None, key_file: str | None) -> list[str]:
    found = list(keys or [])
    if key_file is None:
        return found
    from shardcore.sources.local import read_side_file

    name = "standard input" if key_file == "-" else key_file
    with reported_as(f"cannot read the keys in {name}"):
        # Read as bytes: text mode would convert line ends inside keys.
        data = sys.stdin.buffer.read() if key_file == "-" else read_side_file(key_file, named=True)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot read the keys in {name}: it is not UTF-8 text") from error
    # Not `splitlines`: keys may contain other line separators.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            found.append(_key_of(line.removesuffix("\r"), f"{name}, line {number}"))
    return found


def _key_of(line: str, place: str) -> str:
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
    """Parse `A:B` as a half-open range."""
    if text is None:
        return None
    first, _, last = text.partition(":")
    start, stop = whole_number(first or "0"), whole_number(last)
    if start is None or stop is None:
        raise UsageError(f"--range must be A:B, two byte offsets, not {short(text)}")
    if start > stop:
        raise UsageError(f"--range {text}: the start is after the end")
    return start, stop


def whole_number(text: str) -> int | None:
    """Parse a number of at most 64 bits, decimal or with `0x`; None for other text."""
    try:
        number = int(text, 0)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 64 else None


def format_options(pairs: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"-O takes NAME=VALUE, not {short(pair)}")
        if name in found:
            raise UsageError(f"-O {name} is given twice")
        found[name] = value
    return found
