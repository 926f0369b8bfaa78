"""Mutation test (`make mutate ARGS="--count 60"`): changes the program at random, and counts what the tests detect.

Each mutant is one change of one function. The quick tests of the function's module run in a copy of the repository.
`--list FILE.json` stores the mutants, or reads them if the file exists, to repeat them on a later version.
"""

from __future__ import annotations

import argparse
import ast
import json
import operator
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TURNED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


# Path, qualified name of the function, kind of change, and ordinal among the places of that kind in the function.
Mutant = tuple[str, str, str, int]
# Kind, node to show, its owner, the field or index to set there, and the new value.
Place = tuple[str, ast.AST, Any, str | int, Any]


def functions(node: ast.AST, name: str = "") -> Iterator[tuple[str, FUNCTIONS]]:
    """Yield all functions and methods of a module, including nested ones, with their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS | ast.ClassDef):
            inner = f"{name}.{child.name}".lstrip(".")
            if isinstance(child, FUNCTIONS) and child.name != "__repr__":
                yield inner, child
            yield from functions(child, inner)
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from functions(child, name)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function in order, without nested functions, annotations, `raise` and `if TYPE_CHECKING`."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            skipped = isinstance(child, FUNCTIONS | ast.ClassDef | ast.Raise) or field in {"returns", "decorator_list"}
            checking = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            if isinstance(child, ast.AST) and not skipped and not checking and field != "annotation":
                yield child
                yield from own_nodes(child)


def places(function: FUNCTIONS) -> Iterator[Place]:
    """Yield all possible changes of a function."""
    nodes = list(own_nodes(function))
    several = sum(isinstance(node, ast.Return) for node in nodes) > 1
    for node in nodes:
        if isinstance(node, ast.Compare):
            for n, sign in enumerate(node.ops):
                yield "comparison", node, node.ops, n, TURNED[type(sign)]()
            yield from (bound for side in (node.left, *node.comparators) for bound in bounds(side, node))
        elif isinstance(node, ast.Slice):
            yield from (bound for side in (node.lower, node.upper) for bound in bounds(side, node))
        elif isinstance(node, ast.BoolOp):
            yield "and-or", node, node, "op", TURNED[type(node.op)]()
        elif isinstance(node, ast.Return) and several and ast.unparse(node) not in {"return", "return None"}:
            yield "return", node, node, "value", ast.Constant(None)
        elif isinstance(node, ast.comprehension):
            for n, test in enumerate(node.ifs):
                yield "condition", test, node.ifs, n, ast.UnaryOp(ast.Not(), test)
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            yield "condition", node.test, node, "test", ast.UnaryOp(ast.Not(), node.test)
    for node in (function, *nodes):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            for n, statement in enumerate(body if isinstance(body, list) else ()):
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                    yield "call", statement, body, n, ast.Pass()


def bounds(side: ast.AST | None, shown: ast.AST) -> Iterator[Place]:
    """Yield changes by one of the integers in one side of a slice or comparison."""
    for node in ast.walk(side) if side else ():
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield "bound+1", shown, node, "value", node.value + 1
            yield "bound-1", shown, node, "value", node.value - 1


def by_kind(function_name: str, tree: ast.AST) -> dict[str, list[Place]]:
    """Return the possible changes of all functions with a name, in order, by kind of change."""
    all_places = [place for name, node in functions(tree) if name == function_name for place in places(node)]
    return {kind: [place for place in all_places if place[0] == kind] for kind in {place[0] for place in all_places}}


def draw(root: Path, seed: int, count: int) -> list[Mutant]:
    """Draw distinct mutants: a function (weighted by its lines), then a kind of change, then a change of this kind."""
    chosen, dice = dict[Mutant, None](), random.Random(seed)
    paths = sorted(p for top in ("shardcore", "app/shardscope") for p in (root / top).rglob("*.py"))
    trees = {str(path.relative_to(root)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    named = [(path, name, node) for path, tree in trees.items() for name, node in functions(tree) if [*places(node)]]
    weights = [(node.end_lineno or node.lineno) - node.body[0].lineno + 1 for _, _, node in named]
    while len(chosen) < count:
        path, name, _ = dice.choices(named, weights)[0]
        found = by_kind(name, trees[path])
        kind = dice.choice(sorted(found))
        chosen.setdefault((path, name, kind, dice.randrange(len(found[kind]))))
    return list(chosen)


def mutated(text: str, mutant: Mutant) -> tuple[str, str] | None:
    """Return a description of a mutant and the changed text of its module; None if the function no longer has it."""
    tree, (_, function, kind, ordinal) = ast.parse(text), mutant
    found = by_kind(function, tree).get(kind, [])
    if ordinal >= len(found):
        return None
    _, shown, owner, field, value = found[ordinal]
    line, before = getattr(shown, "lineno", "?"), ast.unparse(shown)
    (operator.setitem if isinstance(field, int) else setattr)(owner, field, value)  # type: ignore[arg-type]
    after = ast.unparse(value if kind in {"condition", "call"} else shown)
    text = ast.unparse(ast.fix_missing_locations(tree))
    return f"line {line}: {before[:60]} -> {after[:60]}".replace("\n", " "), text


def rooms(root: Path, path: str) -> tuple[str, ...]:
    """Return the tests of a module: the deepest test folder that mirrors its path, then other tests of its package."""
    mirror = Path("tests", Path(path).parent.as_posix().replace("app/shardscope", "app"))
    while not (root / mirror).is_dir():
        mirror = mirror.parent
    if len(mirror.parts) < 3:
        return tuple(sorted(p.relative_to(root).as_posix() for p in (root / mirror).glob("test_*.py")))
    room = Path(*mirror.parts[: 4 if mirror.parts[2] == "formats" else 3])
    rest = [p.relative_to(root) for p in sorted((root / room).iterdir()) if p.is_dir() or p.match("test_*.py")]
    others = [p.as_posix() for p in rest if not mirror.is_relative_to(p) and not p.name.startswith("__")]
    return (mirror.as_posix(), *(others if mirror != room else ()))


def run(root: Path, seconds: float, *options: str) -> tuple[str, list[str]]:
    """Run tests; return `caught` (some failed), `SURVIVED` (all passed) or `timeout`, and the failed tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *options]
    paths = os.pathsep.join(map(str, (root, root / "app")))
    environment = {**os.environ, "TMPDIR": f"{root.parent}", "PYTHONPATH": paths}
    try:
        done = subprocess.run(command, cwd=root, env=environment, timeout=seconds, check=False, stdout=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        return "timeout", []
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout.decode(errors="replace"), re.MULTILINE)
    return "SURVIVED" if done.returncode in (0, 5) else "caught", failed


class Judge:
    """Tests mutants in a copy of the repository. Tests that also fail without the mutant are ignored."""

    def __init__(self, root: Path, seconds: float) -> None:
        self._root, self._seconds = root, seconds
        self._sound, self._failing, self._intact = set[str](), set[str](), dict[str, str]()

    def outcome(self, mutant: Mutant, change: str) -> tuple[str, str]:
        """Return the outcome of a mutant, and the test that caught it."""
        file = self._root / mutant[0]
        text = file.read_text(encoding="utf-8")
        # The folders are passed as `testpaths`: given as arguments, all their parameter sets would run.
        folders = f"testpaths={' '.join(rooms(self._root, mutant[0]))}"
        while True:
            file.write_text(change, encoding="utf-8")
            skipped = (f"--deselect={test}" for test in sorted(self._failing))
            outcome, failed = run(self._root, self._seconds, "-x", *skipped, "-o", folders)
            file.write_text(text, encoding="utf-8")
            if outcome == "timeout":
                if folders not in self._intact:
                    self._intact[folders] = run(self._root, self._seconds, "-o", folders)[0]
                return ("timeout" if self._intact[folders] == "timeout" else "caught"), "by its time"
            if not failed or failed[0] in self._sound:
                return outcome, failed[0] if failed else ""
            if run(self._root, self._seconds, failed[0])[0] == "SURVIVED":
                self._sound.add(failed[0])
            elif failed[0] in self._failing:
                return "unclear", failed[0]
            else:
                self._failing.add(failed[0])


def main() -> None:
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--timeout", type=float, default=600, help="seconds per mutant (default: 600)")
    parser.add_argument("--list", type=Path, help="JSON file of mutants: read if it exists, else written")
    options = parser.parse_args()
    if options.list and options.list.exists():
        mutants = [tuple(row) for row in json.loads(options.list.read_text())]
    else:
        mutants = draw(ROOT, options.seed, options.count)
        (options.list or Path(os.devnull)).write_text(json.dumps(mutants, indent=1))
    begin, totals = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(folder, "tree")
        ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "site")
        shutil.copytree(ROOT, root, ignore=ignored, symlinks=True)
        judge = Judge(root, options.timeout)
        for mutant in mutants:
            file = root / mutant[0]
            change = mutated(file.read_text(encoding="utf-8"), mutant) if file.exists() else None
            outcome, by = judge.outcome(mutant, change[1]) if change else ("gone", "")
            totals[outcome] += 1
            print(outcome, ":".join(map(str, mutant)), change[0] if change else "", by, sep="  ", flush=True)
    print(", ".join(f"{n} {name}" for name, n in totals.items()), f"in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
