"""Options of commands that process shards by workers: `--cluster` and related ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shardcore.cli.options import WORKERS_PANEL, only
from shardcore.errors import UsageError
from shardcore.model.safe_text import short
from shardcore.sources.remote.address import is_address

if TYPE_CHECKING:
    from shardcore.shards.task_pool import TaskPool

LOCAL = "local"

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS|local[:N]",
        help="Process the shards in N processes, or on the workers of a Dask scheduler.",
        rich_help_panel=WORKERS_PANEL,
    ),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="FILE",
        help="Save the results of finished shards; a later run resumes.",
        rich_help_panel=WORKERS_PANEL,
        dir_okay=False,
    ),
]
SharedFolder = Annotated[
    bool,
    typer.Option(
        "--shared",
        help="With --cluster ADDRESS: the workers have DIR under the same path.",
        rich_help_panel=WORKERS_PANEL,
    ),
]
SendKeys = Annotated[
    bool,
    typer.Option(
        "--send-keys",
        help="With --cluster tls://…: also send the login or signature of an address.",
        rich_help_panel=WORKERS_PANEL,
    ),
]


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options `--cluster`, `--state` and `--send-keys`."""

    cluster: str | None = None
    state: Path | None = None
    send_keys: bool = False

    @property
    def processes(self) -> int | None:
        """Number of local processes; None for a Dask cluster, or without workers.

        Raises:
            UsageError: The number is invalid.
        """
        kind, colon, count = (self.cluster or "").partition(":")
        if kind != LOCAL:
            return None
        from shardcore.shards.task_pool import usual_processes

        if colon and not (count.isascii() and count.isdigit() and int(count) > 0):
            raise UsageError(f"--cluster local:N takes a number of processes, not {short(count)}")
        return int(count) if count else usual_processes()

    def check_target(self, out: str, *, shared: bool) -> None:
        """Refuse a local folder as the target of workers on other machines.

        Raises:
            UsageError: The target is such a folder, and `--shared` is not given.
        """
        only("with --cluster ADDRESS", self.cluster is not None and self.processes is None, shared=shared)
        if self.cluster is not None and self.processes is None and not shared and not is_address(out):
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
        from shardcore.shards.run_state import TaskState
        from shardcore.shards.task_pool import dask_cluster, local_processes

        with ExitStack() as ends:
            state = TaskState(self.state) if self.state is not None else None
            if state is not None:
                ends.callback(state.close)
            if (count := self.processes) is not None:
                yield ends.enter_context(local_processes(count, state=state))
            else:
                yield ends.enter_context(dask_cluster(self.cluster, keys=self.send_keys, state=state))
