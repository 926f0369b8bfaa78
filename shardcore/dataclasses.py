"""Dataclasses that are cheap to define: the list of fields and each method are created at their first use."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from functools import partial
from inspect import get_annotations
from reprlib import recursive_repr
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

__all__ = ["MISSING", "asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]


_FIELD: Any = dataclasses._FIELD  # type: ignore[attr-defined]  # what `fields` looks for
_FROM_FACTORY = type("FromFactory", (), {"__repr__": lambda _: "<factory>"})()


class _Lazy:
    """Attribute of a class that `make(cls)` creates at its first use."""

    def __init__(self, cls: type, name: str, make: Callable[[type], Any]) -> None:
        self._cls, self._name, self._make = cls, name, make

    def __get__(self, instance: object, owner: type) -> Any:
        found = self._cls.__dict__[self._name]
        if found is self:
            found = self._make(self._cls)
            setattr(self._cls, self._name, found)
        return found.__get__(instance, owner) if callable(found) else found


COLD = 16
"""Number of instances of a class that are created without its own `__init__`, since compiling that takes longer."""


class _Init(_Lazy):
    """The `__init__` of a class, compiled when it is called often, or called wrongly, or inspected."""

    def __init__(self, cls: type, frozen: bool) -> None:
        super().__init__(cls, "__init__", partial(_init, frozen))
        self._set = object.__setattr__ if frozen else setattr
        self._left = COLD

    def __get__(self, instance: object, owner: type) -> Any:
        self._left -= 1
        return super().__get__(instance, owner) if instance is None or self._left < 0 else partial(self._call, instance)

    def _call(self, instance: Any, /, *given: object, **named: object) -> None:
        known = {one.name: one for one in fields(self._cls)}
        asked = [one for one in known.values() if one.init]
        values = dict(zip((one.name for one in asked if not one.kw_only), given, strict=False)) | named
        needed = {one.name for one in asked if one.default is one.default_factory}  # both are MISSING
        if len(values) < len(given) + len(named) or not needed <= values.keys() <= {one.name for one in asked}:
            super().__get__(instance, self._cls)(*given, **named)  # raises TypeError
            return
        for name, one in known.items():
            if name in values or one.default is not MISSING:
                self._set(instance, name, values.get(name, one.default))
            elif one.default_factory is not MISSING:
                self._set(instance, name, one.default_factory())
        if hasattr(self._cls, "__post_init__"):
            instance.__post_init__()


def _fields(kinds: dict[str, Any], given: dict[str, Any], kw_only: bool, cls: type) -> dict[str, Field[Any]]:
    found: dict[str, Field[Any]] = {}
    for base in cls.__mro__[:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    for name, kind in kinds.items():
        one: Any = given.get(name) or field()
        one.name, one.type, one._field_type = name, kind, _FIELD
        one.kw_only = kw_only if one.kw_only is MISSING else one.kw_only
        found[name] = one
    return found


def _init(frozen: bool, cls: type) -> Callable[..., None]:
    scope: dict[str, Any] = {"_set": object.__setattr__, "_from_factory": _FROM_FACTORY}
    parameters, keywords, lines = ["self"], list[str](), list[str]()
    for one in fields(cls):
        name = given = value = one.name
        fresh = ""
        if one.default is not MISSING:
            scope[fresh := f"_{name}_default"] = one.default
            given = f"{name}={fresh}"
        elif one.default_factory is not MISSING:
            scope[factory := f"_{name}_factory"] = one.default_factory
            given, fresh = f"{name}=_from_factory", f"{factory}()"
            value = f"{fresh} if {name} is _from_factory else {name}"
        if one.init:
            (keywords if one.kw_only else parameters).append(given)
            fresh = value
        if fresh:
            lines.append(f"_set(self, {name!r}, {fresh})" if frozen else f"self.{name} = {fresh}")
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
    """Return a function that returns the values of an object as a tuple: in it, identical values (NaN) are equal."""
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


def _refusal(method: str, cls: type) -> Callable[..., None]:
    names = {one.name for one in fields(cls)}

    def refuse(self: object, name: str, *value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
        getattr(super(cls, self), method)(name, *value)

    return refuse


def _set_state(self: object, state: Any) -> None:
    for part in state if isinstance(state, tuple) else (state,):  # values of `__dict__`, values of slots
        for name, value in (part or {}).items():
            object.__setattr__(self, name, value)


_FROZEN: dict[str, Any] = {name: partial(_refusal, name) for name in ("__setattr__", "__delattr__")}
_FROZEN["__setstate__"] = lambda _: _set_state
_ORDER = {f"__{name}__": partial(_comparison, getattr(operator, name)) for name in ("lt", "le", "gt", "ge")}


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls=None, /, *, repr=True, eq=True, order=False, frozen=False, slots=False, kw_only=False, unsafe_hash=False
    ):
        def define(cls):
            body = dict(cls.__dict__)
            own = {name: kind for name, kind in get_annotations(cls).items() if "ClassVar" not in str(kind)}
            given = {name: body[name] for name in own.keys() & body.keys()}
            for name, value in given.items():
                given[name] = one = value if isinstance(value, Field) else field(default=value)
                if one.default.__class__.__hash__ is None:
                    raise ValueError(f"mutable default {type(one.default)} for field {name}: use default_factory")
                setattr(cls, name, one.default)
                if one.default is MISSING:
                    delattr(cls, name)
            if "__eq__" in body and body["__hash__"] is None:
                del body["__hash__"]  # set by Python, not by the class
            lazy = {
                "__dataclass_fields__": partial(_fields, own, given, kw_only),
                "__match_args__": lambda cls: tuple(f.name for f in fields(cls) if f.init and not f.kw_only),
                "__replace__": lambda _: replace,
            }
            lazy |= {"__repr__": _text} if repr else {}
            lazy |= {"__eq__": partial(_comparison, operator.eq)} if eq else {}
            lazy |= _ORDER if order else {}
            lazy |= _FROZEN if frozen else {}
            lazy |= {"__hash__": _hash if frozen or unsafe_hash else None} if eq or unsafe_hash else {}
            if slots:
                inherited = {name for base in cls.__mro__ for name in base.__dict__.get("__slots__", ())}
                kept = {name: body[name] for name in body.keys() - own.keys() - {"__dict__", "__weakref__"}}
                kept |= {"__qualname__": cls.__qualname__, "__slots__": tuple(n for n in own if n not in inherited)}
                cls = type(cls)(cls.__name__, cls.__bases__, kept)
            if "__init__" not in body:
                cls.__init__ = _Init(cls, frozen)
            for name in lazy.keys() - body.keys():
                setattr(cls, name, lazy[name] and _Lazy(cls, name, lazy[name]))
            cls.__dataclass_params__ = SimpleNamespace(frozen=frozen, __slots__=("frozen",))  # Dask reads the slots
            return cls

        return define if cls is None else define(cls)
