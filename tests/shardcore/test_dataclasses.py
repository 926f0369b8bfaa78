"""Dataclasses compared with those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from threading import Barrier
from types import ModuleType
from typing import Any, ClassVar

import pytest

from shardcore.dataclasses import dataclass

CLASSES = {  # name and bases: decorator, body, arguments of an instance
    "Bare": ("@dataclass(eq=False)", "a: int; __hash__ = lambda self: 5; __repr__ = lambda self: 'bare'", "1"),
    "Fields": ("@dataclass(order=True)", "a: int; b: int = field(default=5, compare=False, repr=False)", "1"),
    "Hashed": ("@dataclass(slots=True, unsafe_hash=True)", "a: int; b: int = field(default=7, init=False)", "1"),
    "Counted": ("@dataclass", "a: int = field(default=7, init=False); b: list = field(default_factory=list)", ""),
    "Frozen": ("@dataclass(frozen=True, slots=True, order=True)", "a: int; b: int = 2; d: ClassVar[int] = 3", "1"),
    "Derived(Frozen)": ("@dataclass(frozen=True, slots=True)", "b: int = field(kw_only=True); __hash__=None", "1,b=5"),
    "Keywords": ("@dataclass(frozen=True, kw_only=True)", "a: int = 1; b: int; __post_init__ = lambda _: None", "b=4"),
    "Equal": ("@dataclass(frozen=True)", "a: int = field(hash=False); __eq__ = lambda self, other: True", "1"),
    "Standard(Frozen)": ("@standard(frozen=True, slots=True)", "c: int = 3", "1"),
    "Plain(Keywords)": ("", "__post_init__ = lambda self: setattr(self, 'own', 3)", "b=4"),
}


def _define(patch: pytest.MonkeyPatch, decorator: Any) -> dict[str, Any]:
    """Define the classes in a module, as pickle requires it."""
    patch.setitem(sys.modules, "defined", module := ModuleType("defined"))
    vars(module).update(dataclass=decorator, standard=dataclasses.dataclass, field=dataclasses.field, ClassVar=ClassVar)
    for head, (line, body, _) in CLASSES.items():
        exec(f"{line}\nclass {head}: {body}", vars(module))  # noqa: S102
    return vars(module)


def _outcome(action: Any, *given: Any) -> str:
    try:
        return repr(action(*given))
    except (AttributeError, TypeError, ValueError) as error:
        return repr(error)


def _copies(one: Any) -> list[Any]:
    return [copy.copy(one), copy.deepcopy(one), *(pickle.loads(pickle.dumps(one, number)) for number in range(2, 6))]


def _description(head: str, scope: dict[str, Any]) -> list[str]:
    one, same = (eval(f"{head.partition('(')[0]}({CLASSES[head][2]})", scope) for _ in range(2))  # noqa: S307
    cls: Any = type(one)
    made = [signature(cls), dataclasses.fields(one), cls.__match_args__, cls.__dict__.get("__slots__"), one]
    made += [getattr(cls, "a", None), getattr(cls, "b", None), one == same, one == 1, _copies(one)]
    uses: list[Any] = [(cls.__lt__, same), (cls.__le__, same), (cls.__gt__, same), (cls.__ge__, same)]
    uses += [(hash,), (lambda _: dataclasses.replace(one, a=3),), (setattr, "a", 3), (delattr, "a"), (getattr, "a")]
    return [repr(value) for value in made] + [_outcome(use, one, *given) for use, *given in uses]


@pytest.mark.parametrize("head", CLASSES)
def test_classes_behave_as_those_of_the_standard_library(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = _description(head, _define(monkeypatch, dataclass))
    assert ours == _description(head, _define(monkeypatch, dataclasses.dataclass))


def test_copies_of_frozen_objects_keep_all_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    scope = _define(monkeypatch, dataclass)
    exec("@dataclass(frozen=True, slots=True)\nclass Empty(type('Plain', (), {})): pass", scope)  # noqa: S102
    exec("@dataclass(frozen=True)\nclass Mixed(Hashed): c: int = 3", scope)  # noqa: S102
    empty, mixed = scope["Empty"](), scope["Mixed"](1)
    vars(empty)["own"] = 5
    assert [vars(each) for each in _copies(empty)] == [{"own": 5}] * 6
    assert _copies(mixed) == [mixed.__replace__(c=3)] * 6


@pytest.mark.parametrize("default", [[], dataclasses.field(default=[])])
def test_mutable_defaults_are_refused(default: Any) -> None:
    with pytest.raises(ValueError, match="mutable default <class 'list'> for field a"):
        dataclass(type("Mutable", (), {"__annotations__": {"a": "object"}, "a": default}))


def test_first_use_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    barrier = Barrier(8)

    def use(cls: Any) -> Any:
        barrier.wait()
        one = cls(1)
        return one < dataclasses.replace(one, a=2), hash(one), repr(one), cls.__match_args__, str(signature(cls))

    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            assert len(set(pool.map(use, [_define(monkeypatch, dataclass)["Frozen"]] * 8))) == 1
