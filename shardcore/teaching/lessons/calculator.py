"""Calculator of a lesson: whole numbers of a fixed width that wrap around, as in a hash function. No Qt here.

A line is parsed into a tree and computed from it; it is never evaluated as code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field

WIDTHS = (32, 64)
MOST_LETTERS = 400
MOST_NAMES = 50

_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])")
_WORDS = {"·": "*", "×": "*", " mod ": " % "}


class CalculatorError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class CalculatorSetup:
    width: int
    values: tuple[tuple[str, str], ...] = ()

    def begun(self) -> Calculator:
        made = Calculator(self.width)
        for name, value in self.values:
            made.compute(f"{name} = {value}")
        return made


@dataclass(slots=True)
class Calculator:
    width: int = 32
    names: dict[str, int] = field(default_factory=dict)

    def compute(self, line: str) -> tuple[str, int]:
        statement = _parsed(line)
        if isinstance(statement, ast.Expr):
            return "", self._number(statement.value)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], self._number(statement.value)
        elif isinstance(statement, ast.AugAssign):
            target = statement.target
            value = self._number(ast.BinOp(ast.Name(ast.unparse(target)), statement.op, statement.value))
        else:
            raise CalculatorError("cannot calculate this")
        if not isinstance(target, ast.Name) or target.id in _FUNCTIONS:
            raise CalculatorError("a result is kept under a name of letters and digits, as in a = 5")
        if target.id not in self.names and len(self.names) >= MOST_NAMES:
            raise CalculatorError(f"there are {MOST_NAMES} names already")
        self.names[target.id] = value
        return target.id, value

    def _number(self, node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            if node.value >> self.width:
                raise CalculatorError(f"{node.value} does not fit in {self.width} bits")
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                raise CalculatorError(f"{node.id} has no value yet; it gets one with {node.id} = …")
            return self.names[node.id]
        return self._operation(node) & ((1 << self.width) - 1)

    def _operation(self, node: ast.expr) -> int:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            left, right = self._number(node.left), self._number(node.right)
            return _OPERATIONS[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
            return _SIGNS[type(node.op)](self._number(node.operand))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            if len(node.args) != 2 or node.keywords:
                raise CalculatorError(f"{node.func.id} has two numbers: {node.func.id}(x, 13)")
            number, count = map(self._number, node.args)
            return _FUNCTIONS[node.func.id](number, count, self.width)
        raise CalculatorError(f"{ast.unparse(node)} is not known here; there are + - * // % ^ & | ~ << >> and rotl")


def _parsed(line: str) -> ast.stmt:
    if len(line) > MOST_LETTERS:
        raise CalculatorError(f"the line has over {MOST_LETTERS} letters")
    plain = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), line.strip())
    for word, sign in _WORDS.items():
        plain = plain.replace(word, sign)
    try:
        statements = ast.parse(plain).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CalculatorError("cannot calculate this") from error
    if len(statements) != 1:
        raise CalculatorError("one calculation per line")
    return statements[0]


def _whole(left: int, right: int) -> int:
    if right == 0:
        raise CalculatorError("division by zero")
    return left // right


def _shifted(left: int, right: int) -> int:
    return left << right if right < max(WIDTHS) else 0


_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: _whole,
    ast.FloorDiv: _whole,
    ast.Mod: lambda left, right: left - right * _whole(left, right),
    ast.BitXor: lambda left, right: left ^ right,
    ast.BitAnd: lambda left, right: left & right,
    ast.BitOr: lambda left, right: left | right,
    ast.LShift: _shifted,
    ast.RShift: lambda left, right: left >> right,
}
_SIGNS: dict[type[ast.unaryop], Callable[[int], int]] = {
    ast.Invert: lambda number: ~number,
    ast.USub: lambda number: -number,
    ast.UAdd: lambda number: number,
}


def _rotated(number: int, count: int, width: int) -> int:
    count %= width
    return number << count | number >> (width - count)


_FUNCTIONS: dict[str, Callable[[int, int, int], int]] = {"rotl": _rotated}
