"""Dataclasses that are cheap to define: `__init__` is compiled at its first use, the other methods share their code."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["MISSING", "asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]


_OMITTED = type("Omitted", (), {"__repr__": lambda _: "<factory>"})()


class _Init:
    def __init__(self, cls: type, *, frozen: bool) -> None:
        self._cls, self._frozen = cls, frozen

    def __get__(self, instance: object, owner: type) -> Any:
        cls: Any = self._cls
        if cls.__dict__["__init__"] is self:
            cls.__init__ = self._compile()
        return cls.__init__.__get__(instance, owner)

    def _compile(self) -> Callable[..., None]:
        scope: dict[str, Any] = {"_set": object.__setattr__, "_omitted": _OMITTED}
        parameters, keywords = ["self"], list[str]()
        lines = []
        for one in fields(self._cls):
            given = value = one.name
            if one.default is not MISSING:
                scope[default := f"_{one.name}_default"] = one.default
                given = f"{one.name}={default}"
            elif one.default_factory is not MISSING:
                scope[factory := f"_{one.name}_factory"] = one.default_factory
                given = f"{one.name}=_omitted"
                value = f"{factory}() if {value} is _omitted else {value}" if one.init else f"{factory}()"
            if one.init:
                (keywords if one.kw_only else parameters).append(given)
            if one.init or value != one.name:
                lines.append(f"_set(self, {one.name!r}, {value})" if self._frozen else f"self.{one.name} = {value}")
        if hasattr(self._cls, "__post_init__"):
            lines.append("self.__post_init__()")
        if keywords:
            parameters += ["*", *keywords]
        exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), scope)  # noqa: S102
        made: Callable[..., None] = scope["__init__"]
        made.__qualname__, made.__module__ = f"{self._cls.__qualname__}.__init__", self._cls.__module__
        made.__annotations__ = {one.name: one.type for one in fields(self._cls) if one.init} | {"return": None}
        return made


def _values(names: list[str]) -> Callable[[object], object]:
    """Return a function that returns the values as a tuple, which compares identical values as equal."""
    if len(names) == 1:
        value = operator.attrgetter(names[0])
        return lambda self: (value(self),)
    return operator.attrgetter(*names) if names else lambda _: ()


def _comparison(relation: Callable[[Any, Any], bool], values: Callable[[object], object]) -> Callable[..., Any]:
    def compare(self: object, other: object) -> Any:
        return relation(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return compare


def _text(names: list[str]) -> Callable[[object], str]:
    @recursive_repr("...")
    def text(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return text


def _frozen(cls: Any, names: list[str]) -> dict[str, Callable[..., object]]:
    def refusal(method: str, verb: str) -> Callable[..., None]:
        def refuse(self: Any, name: str, *value: object) -> None:
            if type(self) is cls or name in names:
                raise FrozenInstanceError(f"cannot {verb} field {name!r}")
            getattr(super(cls, self), method)(name, *value)

        return refuse

    def set_state(self: object, state: list[object]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {
        "__setattr__": refusal("__setattr__", "assign to"),
        "__delattr__": refusal("__delattr__", "delete"),
        "__getstate__": lambda self: [getattr(self, name) for name in names],
        "__setstate__": set_state,
    }


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls=None, /, *, repr=True, eq=True, order=False, frozen=False, slots=False, kw_only=False, unsafe_hash=False
    ):
        def define(cls):
            doc, cls.__doc__ = cls.__doc__, " "  # else the standard library writes one, from a signature
            # The standard library refuses to mix frozen and other classes.
            inherits = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
            light = {"init": False, "repr": False, "eq": False, "frozen": inherits}
            made = dataclasses.dataclass(**light, slots=slots, kw_only=kw_only)(cls)
            made.__doc__, made.__dataclass_params__.frozen = doc, frozen
            every = fields(made)
            compared = _values([one.name for one in every if one.compare])
            methods = {"__init__": _Init(made, frozen=frozen)}
            if repr:
                methods["__repr__"] = _text([one.name for one in every if one.repr])
            if eq:
                hashed = _values([one.name for one in every if (one.compare if one.hash is None else one.hash)])
                methods["__eq__"] = _comparison(operator.eq, compared)
                methods["__hash__"] = (lambda self: hash(hashed(self))) if frozen or unsafe_hash else None
            if order:
                for relation in (operator.lt, operator.le, operator.gt, operator.ge):
                    methods[f"__{relation.__name__}__"] = _comparison(relation, compared)
            if frozen:
                methods |= _frozen(made, [one.name for one in every])
            for name in methods.keys() - cls.__dict__.keys():
                setattr(made, name, methods[name])
            return made

        return define if cls is None else define(cls)
