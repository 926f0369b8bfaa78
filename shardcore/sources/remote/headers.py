"""Additional request headers for web servers, from the user's `headers.toml`."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.model.safe_text import short
from shardcore.system import user_folder

MOST_BYTES = 1 << 20
"""Maximum bytes of the file."""

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OURS = ("range", "if-match", "host", "accept-encoding", "content-length", "transfer-encoding", "connection")
"""Headers that range requests depend on."""


def headers_file() -> Path:
    return user_folder("config") / "headers.toml"


def headers_for(server: tuple[str, str], profile: str | None = None) -> dict[str, str]:
    """Return the user's headers for a server; empty if the file has no section for it.

    Sections: `["data.example.org"]` for HTTPS, `["http://127.0.0.1:8080"]` for HTTP, with the port if there is one. A
    table `["data.example.org".lab]` adds the headers of a profile. `${NAME}` in a value is an environment variable.
    """
    scheme, host = server
    sections = _sections(headers_file())
    name = host.rpartition("@")[2].lower()
    found = sections.get(f"{scheme}://{name}", sections.get(name) if scheme == "https" else None)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UsageError(f"headers.toml: {short(name)} is not a section")
    chosen = found.get(profile) if profile else None
    lines = {key: value for key, value in found.items() if not isinstance(value, dict)}
    lines |= chosen if isinstance(chosen, dict) else {}
    return {_checked(key): _filled(key, value) for key, value in lines.items()}


def _sections(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SourceError(f"cannot read {path.name}: {reason_of(error)}") from error
    if len(data) > MOST_BYTES:
        raise UsageError(f"headers.toml has more than {MOST_BYTES:,} bytes")
    try:
        return {name.lower().rstrip("/"): one for name, one in tomllib.loads(data.decode()).items()}
    except ValueError as error:
        # The parser message may quote a line of the file.
        raise UsageError("headers.toml is not valid TOML") from error
    except RecursionError as error:
        raise UsageError("headers.toml is nested too deeply") from error


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name) or name.lower() in _OURS:
        raise UsageError(f"headers.toml: {short(name)} cannot be set as a header")
    return name


def _filled(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(f'headers.toml: the value of {name} is a text, such as "Bearer ${{TOKEN}}"')
    for variable in _VARIABLE.findall(value):
        if variable not in os.environ:
            raise UsageError(f"headers.toml: the environment variable {variable} is not set")
    filled = _VARIABLE.sub(lambda found: os.environ[found[1]], value)
    if not filled.isascii() or not filled.isprintable():
        raise UsageError(f"headers.toml: the value of {name} cannot be sent as a header")
    return filled
