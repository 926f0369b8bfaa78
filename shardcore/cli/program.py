"""The program: its commands, and how failures become exit codes."""

from __future__ import annotations

import os
import sys

import click
import typer

import shardcore
from shardcore.cli import changing, looking, taking
from shardcore.cli.output import warn
from shardcore.errors import Cancelled, KeyAbsent, LimitExceeded, NotAShard, ShardError, SourceError, UsageError

EXIT_FINE = 0
EXIT_ABSENT = 1
EXIT_USAGE = 2
EXIT_DAMAGED = 3
EXIT_SOURCE = 4
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="shardcore",
    help="Look into shard files: what they hold, where it lies, how a key is found, whether it is sound.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (looking.COMMANDS, taking.COMMANDS, changing.COMMANDS):
    for command in commands:
        app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"shardcore {shardcore.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    """Options before the command."""


def exit_code(error: ShardError) -> int:
    """The exit code for an error."""
    if isinstance(error, UsageError):
        return EXIT_USAGE
    if isinstance(error, KeyAbsent):
        return EXIT_ABSENT
    if isinstance(error, SourceError):
        return EXIT_SOURCE
    return EXIT_DAMAGED


def run(arguments: list[str] | None = None) -> int:
    """Runs the program; returns the exit code."""
    try:
        result = typer.main.get_command(app).main(arguments, prog_name="shardcore", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except click.exceptions.Abort:
        return EXIT_INTERRUPTED
    except ShardError as error:
        warn(str(error))
        if isinstance(error, NotAShard):
            for candidate in error.candidates:
                warn(f"  {candidate}")
        if isinstance(error, LimitExceeded):
            warn("--limit-bytes raises the limit")
        return exit_code(error)
    except (KeyboardInterrupt, Cancelled):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output went away; the interpreter must not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FINE
    return result if isinstance(result, int) else EXIT_FINE


def main() -> None:
    """The entry point of the `shardcore` command."""
    sys.exit(run())
