"""Commands whose parameters are texts and flags: typer would load pydantic, which takes as long as NumPy, to copy them.

Where the installed typer has no such conversion, nothing is changed.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class Plain:
    """Stands for `process_value` of a parameter: takes texts and defaults as they are; typer converts the rest.

    Args:
        parameter: An argument or option.
    """

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter
        self._convert = parameter.process_value
        self._annotation = parameter.type_descriptor.annotation

    def __call__(self, ctx: Any, value: Any) -> Any:
        """The value that the command gets."""
        parameter = self._parameter
        is_default = value is parameter.default and not parameter.required
        if is_default or (self._annotation is str and isinstance(value, str)):
            taken = value
        elif self._annotation == list[str] and value and all(isinstance(one, str) for one in value):
            taken = list(value)
        else:
            return self._convert(ctx, value)
        return taken if parameter.callback is None else parameter.callback(ctx, parameter, taken)


class PlainCommand(TyperCommand):
    """A command that takes texts, flags and defaults as they are."""

    def get_params(self, ctx: Any) -> Any:
        """The parameters, `--help` among them."""
        return _made_plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """The same for the options before the command."""

    def get_params(self, ctx: Any) -> Any:
        """The parameters, `--help` among them."""
        return _made_plain(super().get_params(ctx))


def _made_plain(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if hasattr(parameter, "type_descriptor") and not isinstance(parameter.process_value, Plain):
            parameter.process_value = Plain(parameter)
    return parameters
