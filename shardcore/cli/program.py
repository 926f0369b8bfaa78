"""Main program of the command line: table of commands, help in plain text, and exit codes of errors."""

from __future__ import annotations

import functools
import gc
import os
import re
import signal
import sys
from collections.abc import Callable
from enum import EnumType
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

import shardcore
from shardcore.cli.output import silence_output, warn, with_advice
from shardcore.errors import (
    Cancelled,
    KeyAbsent,
    LayerUnchosen,
    NotAShard,
    ShardError,
    SourceError,
    SpaceUnchosen,
    UsageError,
)
from shardcore.model.budget import budgeted
from shardcore.model.text import shell_line, typed, without_secrets
from shardcore.system import allow_many_files, ending_signals, single_blas_thread


class FastConversion:
    """Fast replacement for typer's `process_value`, which it calls except for texts, choices, defaults and files."""

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter
        self._convert = parameter.process_value
        self._annotation = parameter.type_descriptor.annotation
        chosen = isinstance(self._annotation, EnumType)
        self._choices: dict[object, Any] = {one.value: one for one in self._annotation} if chosen else {}

    def __call__(self, ctx: Any, value: Any) -> Any:
        parameter = self._parameter
        if ctx.resilient_parsing:
            return value  # completion needs only names
        is_default = value is parameter.default and not parameter.required
        if is_default or (self._annotation is str and isinstance(value, str)):
            taken = value
        elif self._annotation == list[str] and value and all(isinstance(one, str) for one in value):
            taken = list(value)
        elif isinstance(value, str) and value in self._choices:
            taken = self._choices[value]
        elif self._annotation is Path and isinstance(value, str) and _is_accepted(value):
            taken = Path(value)
        else:
            return self._convert(ctx, value)
        return taken if parameter.callback is None else parameter.callback(ctx, parameter, taken)


def _is_accepted(path: str) -> bool:
    """Return True for a readable file or a new path: typer would report no error about it."""
    return not os.path.isdir(path) and (os.access(path, os.R_OK) or not os.path.exists(path))  # noqa: PTH110, PTH112


def help_panels(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    panels: dict[str, list[tuple[str, str]]] = {}
    for one in command.get_params(ctx):
        if (record := one.get_help_record(ctx)) is not None:
            title = "Arguments" if one.param_type_name == "argument" else "Options"
            name, text = record
            if title == "Arguments":
                name = name.partition(" <")[0]  # their Python type tells a user nothing
            name = _OLDER_OPTIONS.sub("", name)
            panels.setdefault(getattr(one, "rich_help_panel", None) or title, []).append((name, text))
    return panels


class PlainCommand(TyperCommand):
    """Command with plain-text help; `examples` are the lines under *Examples* of its docstring."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        settings["help"], _, examples = (settings.get("help") or "").partition("\nExamples:\n")
        self.examples = tuple(line.strip() for line in examples.splitlines() if line.strip())
        super().__init__(*arguments, **settings)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, grouped by panel; options for remote files have a separate help page."""
        from shardcore.cli.options import REMOTE_PANEL

        panels = help_panels(self, ctx)
        remote = panels.pop(REMOTE_PANEL, None)
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl(records)
        if remote:
            formatter.write("\nRemote options: see `shardcore help remote`\n")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage line without braces around required arguments."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Examples"):
            for line in self.examples:
                formatter.write(f"  {line}\n")

    def get_params(self, ctx: Any) -> Any:
        return _made_plain(super().get_params(ctx))


class Commands(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(_MODULES)  # type: ignore[assignment]  # imported by `get_command`

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        name = _OLDER_NAMES.get(cmd_name, cmd_name)
        return loaded(name) if name in _MODULES else None

    def get_params(self, ctx: Any) -> Any:
        return _made_plain(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, _MODULES))
        for title, modules in _GROUPS.items():
            with formatter.section(title):
                names = " ".join(modules.values()).split()
                formatter.write_dl([(name.ljust(width), loaded(name).short_help) for name in names])


def _made_plain(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if hasattr(parameter, "type_descriptor") and not isinstance(parameter.process_value, FastConversion):
            parameter.process_value = FastConversion(parameter)
    return parameters


EXIT_FINE = 0
EXIT_ABSENT = 1
EXIT_USAGE = 2
EXIT_DAMAGED = 3
EXIT_SOURCE = 4
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled as Ctrl+C, so that temporary files and partial uploads are removed."""


_GROUPS = {
    "Look inside": {"inspect": "info tree explain", "draw": "draw chart", "show": "show"},
    "Look up": {"inspect": "trace locate", "find": "find"},
    "Verify and compare": {"inspect": "verify", "diff": "diff"},
    "Extract": {"extract": "ls get extract recover"},
    "Write": {"pack": "pack convert rekey"},
    "Edit in place": {"edit": "delete truncate append tombstone undo"},
    "Learn": {"lesson": "lesson"},
    "More": {"formats": "formats help"},
}
"""Modules and command names, by title in the help."""

_MODULES = {name: module for modules in _GROUPS.values() for module, names in modules.items() for name in names.split()}

_OLDER_NAMES = {"salvage": "recover"}
"""Current name of each old command name, which still works; the help hides old names, and `_OLDER_OPTIONS`."""

_OLDER_OPTIONS = re.compile("|".join(f", {one}" for one in ("--tape", "--leads")))

_WRITERS = ("extract", "pack", "edit", "lesson", "find")
WRITING = frozenset(name for name, module in _MODULES.items() if module in _WRITERS and name != "ls")
"""Commands that write contents or open many files, so that the stored size of one file does not limit their work; see
`Budget.taking`."""

MANY_FILES = 1 << 16
"""Maximum open files requested from the system."""

# Base class of typer's usage errors, of which only a subclass is public.
ArgumentError: type[Exception] = typer.BadParameter.__mro__[2]


def guarded(command: Callable[..., int], *, taking: bool = False) -> Callable[..., int]:
    """Run a command within a budget, and convert errors to exit codes and lines on standard error.

    `taking`: the command writes or returns contents, whose total the budget then does not limit; see `Budget`.
    """

    @functools.wraps(command)
    def call(*arguments: object, **options: object) -> int:
        code = EXIT_FINE
        try:
            with budgeted(taking=taking):
                code = command(*arguments, **options)
            sys.stdout.flush()
        except ShardError as error:
            return report_error(error, command.__name__)
        except Terminated:
            return EXIT_TERMINATED
        except (KeyboardInterrupt, Cancelled):
            return EXIT_INTERRUPTED
        except BrokenPipeError:
            # The reader closed the pipe, which is no error: the exit code of the command is returned.
            silence_output()
            return code
        except OSError as error:
            # The library does not raise OSError, so this is an error of the output.
            return _unwritten(error)
        return code

    return call


def _unwritten(error: OSError) -> int:
    silence_output()
    warn(f"cannot write the output: {error.strerror or error}")
    return EXIT_SOURCE


@functools.cache
def loaded(name: str) -> Any:
    function = getattr(import_module(f"shardcore.cli.{_MODULES[name]}"), name)
    # A separate `short_help` is not cut at the first line.
    summary = (function.__doc__ or "").partition("\n")[0]
    part = typer.Typer(**_SETTINGS, add_completion=False)
    part.callback()(lambda: None)
    settings = {"short_help": summary, "context_settings": _SETTINGS["context_settings"]}
    part.command(cls=PlainCommand, **settings)(guarded(function, taking=name in WRITING))
    return typer.main.get_group(part).commands[name]


_SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,  # plain help: importing rich takes longer than most commands
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(
    name="shardcore",
    cls=Commands,
    help="Inspect shard files: contents, offsets, lookups and errors.",
    epilog="Exit codes: 0 success; 1 key not found, errors found; 2 usage; 3 not a shard, damaged; 4 file or network.",
    **_SETTINGS,
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"shardcore {shardcore.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    """Define the options that precede the command."""


def report_error(error: ShardError, name: str) -> int:
    """Print the error of a command; return its exit code."""
    options = {option for one in loaded(name).params for option in one.opts}
    text = with_advice(error.placed, error.remedy, options)
    if isinstance(error, NotAShard) and not (error.remedy or error.is_other) and "--format" in options:
        from shardcore.shards.registry import FORMATS

        text += f"; force one with --format ({', '.join(FORMATS)})"
    warn(text)
    if isinstance(error, SpaceUnchosen) and error.address:
        alone = sum(one.param_type_name == "argument" and one.required for one in loaded(name).params) == 1
        line = shell_line(["shardcore", name if alone else "ls", typed(without_secrets(error.address))])
        warn(f"for example: {line}")
    if isinstance(error, LayerUnchosen):
        for layer, address in error.layers:
            warn(f"  {without_secrets(address)}  {layer}")
    if isinstance(error, NotAShard):
        for candidate in error.candidates:
            if candidate not in error.message:
                warn(f"  {candidate}")
    return exit_code(error)


def exit_code(error: ShardError) -> int:
    """Return 1 for a key that was not found, 2 for wrong usage, 4 for an unreadable source, 3 for damage and others."""
    codes = {UsageError: EXIT_USAGE, KeyAbsent: EXIT_ABSENT, SourceError: EXIT_SOURCE}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), EXIT_DAMAGED)


_COMPLETING = "_SHARDCORE_COMPLETE"
"""Environment variable that the shell sets when it requests completions."""


def run(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    try:
        result = typer.main.get_command(app).main(given or ["--help"], prog_name="shardcore", standalone_mode=False)
        sys.stdout.flush()
    except ArgumentError as error:
        warn(_argument_text(error))
        return EXIT_USAGE
    except Terminated:
        return EXIT_TERMINATED
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except (SystemExit, BrokenPipeError) as error:
        if os.environ.get(_COMPLETING):
            return int(getattr(error, "code", None) or EXIT_FINE)
        # The reader of the help closed the pipe.
        silence_output()
        return EXIT_FINE
    except OSError as error:
        return _unwritten(error)
    if not given:
        return EXIT_USAGE
    return result if isinstance(result, int) else EXIT_FINE


def main() -> None:
    if sys.stdout is None:
        # Standard output was closed at the start: reserve descriptor 1, so that no other file gets it.
        nowhere = os.open(os.devnull, os.O_RDONLY)
        if nowhere != 1:
            os.dup2(nowhere, 1)
            os.close(nowhere)
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Escape what the encoding of the terminal cannot represent.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(50_000)  # imports create many objects and hardly any cycles
    allow_many_files(MANY_FILES)
    single_blas_thread()
    for number in ending_signals():
        signal.signal(number, _terminate)
    code = run()
    gc.freeze()  # the collection at the exit took a fifth of a short command
    sys.exit(code)


def _terminate(number: int, frame: object) -> None:
    raise Terminated


_PLAIN_WORDS = {
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be greater than or equal to": "must be at least",
    "No such option:": "no such option:",
    "No such command": "no such command:",
    "Possible options:": "perhaps",
    ". Did you mean": ", perhaps",
    "Missing argument": "missing argument:",
    "requires an argument": "requires a value",
    "Got unexpected extra argument(s)": "too many arguments:",
    "Got unexpected extra argument": "too many arguments:",
}
"""Replacements in messages of the command-line library, to make them plainer."""


def _argument_text(error: Exception) -> str:
    message = getattr(error, "format_message", error.__str__)()
    context = getattr(error, "ctx", None)
    where = getattr(context, "command_path", "shardcore")
    what = " ".join(message.replace("Value error, ", "").split()).rstrip(".")
    for theirs, plain in _PLAIN_WORDS.items():
        what = what.replace(theirs, plain)
    what = what.rstrip("?")
    if what.startswith("missing argument: '"):
        one_of = "one of " if "|" in what else ""
        what = what.replace("'", one_of, 1).rstrip("'").replace("|", ", ")
    parameters = getattr(getattr(context, "command", None), "params", ())
    if what.startswith("no such option:") and any(one.name in ("key", "keys") for one in parameters):
        what += "; put keys that begin with a dash after --"
    return f"{without_secrets(what)}; see {where} --help"
