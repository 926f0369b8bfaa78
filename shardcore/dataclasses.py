"""Dataclasses that are cheap to define: each field and method is made at its first use."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from functools import partial
from inspect import get_annotations
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["MISSING", "asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]


_FIELD: Any = dataclasses._FIELD  # type: ignore[attr-defined]  # what `fields` looks for
_OMITTED = type("Omitted", (), {"__repr__": lambda _: "<factory>"})()


class _Params:
    """What the standard decorator and Dask read of a class."""

    __slots__ = ("frozen",)

    def __init__(self, frozen: bool) -> None:
        self.frozen = frozen


class _Late:
    """Attribute of a class, made by `make(cls)` at its first use."""

    def __init__(self, cls: type, name: str, make: Callable[[type], Any]) -> None:
        self._cls, self._name, self._make = cls, name, make

    def __get__(self, instance: object, owner: type) -> Any:
        found = self._cls.__dict__[self._name]
        if found is self:
            found = self._make(self._cls)
            setattr(self._cls, self._name, found)
        return found.__get__(instance, owner) if callable(found) else found


def _fields(kinds: dict[str, Any], given: dict[str, Any], kw_only: bool, cls: type) -> dict[str, Field[Any]]:
    found: dict[str, Field[Any]] = {}
    for base in cls.__mro__[:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    for name, kind in kinds.items():
        one: Any = given.get(name, MISSING)
        if not isinstance(one, Field):
            one = field(default=one)
        one.name, one.type, one._field_type = name, kind, _FIELD
        one.kw_only = kw_only if one.kw_only is MISSING else one.kw_only
        found[name] = one
    return found


def _init(frozen: bool, cls: type) -> Callable[..., None]:
    scope: dict[str, Any] = {"_set": object.__setattr__, "_omitted": _OMITTED}
    parameters, keywords = ["self"], list[str]()
    lines = []
    for one in fields(cls):
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
            lines.append(f"_set(self, {one.name!r}, {value})" if frozen else f"self.{one.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    if keywords:
        parameters += ["*", *keywords]
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), scope)  # noqa: S102
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {one.name: one.type for one in fields(cls) if one.init} | {"return": None}
    return made


def _values(names: list[str]) -> Callable[[object], object]:
    """Return a function that returns the values as a tuple, which compares identical values as equal."""
    if len(names) == 1:
        value = operator.attrgetter(names[0])
        return lambda self: (value(self),)
    return operator.attrgetter(*names) if names else lambda _: ()


def _comparison(relation: Callable[[Any, Any], bool], cls: Any) -> Callable[..., Any]:
    values = _values([one.name for one in fields(cls) if one.compare])

    def compare(self: object, other: object) -> Any:
        return relation(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return compare


def _hash(cls: Any) -> Callable[[object], int]:
    hashed = _values([one.name for one in fields(cls) if (one.compare if one.hash is None else one.hash)])
    return lambda self: hash(hashed(self))


def _text(cls: Any) -> Callable[[object], str]:
    names = [one.name for one in fields(cls) if one.repr]

    @recursive_repr("...")
    def text(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return text


def _refusal(verb: str, cls: type) -> Callable[..., None]:
    def refuse(self: object, name: str, *value: object) -> None:
        raise FrozenInstanceError(f"cannot {verb} field {name!r}")

    return refuse


def _set_state(self: object, state: tuple[dict[str, Any] | None, dict[str, Any]]) -> None:
    for name, value in [one for part in state if part for one in part.items()]:
        object.__setattr__(self, name, value)


_FROZEN = {"__setattr__": partial(_refusal, "assign to"), "__delattr__": partial(_refusal, "delete")}
_ORDER = {
    f"__{one.__name__}__": partial(_comparison, one) for one in (operator.lt, operator.le, operator.gt, operator.ge)
}


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls=None, /, *, repr=True, eq=True, order=False, frozen=False, slots=False, kw_only=False, unsafe_hash=False
    ):
        def define(cls):
            body = dict(cls.__dict__)
            own = {name: kind for name, kind in get_annotations(cls).items() if "ClassVar" not in str(kind)}
            given = {name: body[name] for name in own if name in body}
            late = {
                "__dataclass_fields__": partial(_fields, own, given, kw_only),
                "__match_args__": lambda cls: tuple(f.name for f in fields(cls) if f.init and not f.kw_only),
                "__init__": partial(_init, frozen),
                "__dataclass_params__": lambda _: _Params(frozen),
            }
            late |= {"__repr__": _text} if repr else {}
            late |= {"__eq__": partial(_comparison, operator.eq)} if eq else {}
            late |= _ORDER if order else {}
            late |= _FROZEN if frozen else {}
            if eq or unsafe_hash:
                late["__hash__"] = _hash if frozen or unsafe_hash else None
            if slots:
                taken = {name for base in cls.__mro__ for name in base.__dict__.get("__slots__", ())}
                kept = {name: body[name] for name in body.keys() - own.keys() - {"__dict__", "__weakref__"}}
                kept |= {"__slots__": tuple(name for name in own if name not in taken)}
                kept |= {"__setstate__": _set_state} if frozen else {}
                cls = type(cls)(cls.__name__, cls.__bases__, kept | {"__qualname__": cls.__qualname__})
            else:
                for name in [name for name, value in given.items() if isinstance(value, Field)]:
                    delattr(cls, name)
            for name in late.keys() - body.keys():
                setattr(cls, name, late[name] and _Late(cls, name, late[name]))
            return cls

        return define if cls is None else define(cls)
