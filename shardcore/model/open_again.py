"""How something that is open is opened again: the same choices as flags of a command and as arguments in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Again:
    """What was chosen when something was opened, as far as it may be told: never a key or a token.

    Attributes:
        format: The name of the format, where it was given and not recognised.
        options: Values of options of formats, by name; those that no text can hold are left out.
        remote: What was said of the store, by the names of `RemoteOptions`.
        partial: Whether it is damaged, so that only a part of it opens.
    """

    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    remote: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False

    @property
    def words(self) -> list[str]:
        """The flags of `shardcore`."""
        found = ["--format", self.format] if self.format else []
        for name, value in (self._told(self.options) | self._told(self.remote)).items():
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            found += [flag] if value is True else [flag, str(value)]
        return found

    @property
    def arguments(self) -> str:
        """What follows the address in a call of `shardcore.open`; empty, or it begins with a comma."""
        found = {"format": self.format} if self.format else {}
        texts = [f"{name}={value!r}" for name, value in (found | self._told(self.options)).items()]
        if remote := self._told(self.remote):
            inner = ", ".join(f"{name}={value!r}" for name, value in remote.items())
            texts.append(f"remote=shardcore.RemoteOptions({inner})")
        if self.partial:
            texts.append("partial=True")
        return "".join(f", {text}" for text in texts)

    @staticmethod
    def _told(values: Mapping[str, Any]) -> dict[str, Any]:
        """The values that were chosen and that a line can hold."""
        return {name: one for name, one in values.items() if isinstance(one, (str, int)) and one not in (False, "")}


AS_IT_IS = Again()
"""Recognised, without any choice."""

_FLAGS = {"anonymous": "--no-sign-request"}
"""Flags that are called otherwise than what they set."""

OPEN_SAID = ("endpoint_url", "region", "profile", "anonymous", "requester_pays", "addressing")
"""What may be told of how a store was reached; keys, tokens and limits may not."""
