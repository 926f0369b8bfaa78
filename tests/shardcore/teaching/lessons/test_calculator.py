"""The calculator of a lesson computes with numbers of 32 or 64 bits, as a hash function does."""

from __future__ import annotations

import pytest

from shardcore.teaching.lessons.calculator import Calculator, CalculatorError
from shardcore.teaching.lessons.lesson import LessonError, parse


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("0xffffffff + 2", 1),
        ("3 - 5", 0xFFFFFFFE),
        ("~0", 0xFFFFFFFF),
        ("-1", 0xFFFFFFFF),
        ("0x80000001 << 1", 2),
        ("1 << 32", 0),
        ("0x80000001 >> 31", 1),
        ("1 >> 99", 0),
        ("rotl(0x80000001, 1)", 3),
        ("rotl(5, 32)", 5),
        ("0x10001 * 0x10001", 0x20001),
        ("3,823,159,907 mod 10 + 1", 8),
        ("17 // 5 + 17 / 5", 6),
        ("0b110 ^ 3 & 1 | 8", 15),
        ("2 · (3 + 4)", 14),
    ],
)
def test_results_wrap_at_thirty_two_bits(line: str, result: int) -> None:
    """Sums, differences, products and shifts drop what does not fit."""
    assert Calculator().compute(line) == ("", result)


def test_sixty_four_bits_hold_what_thirty_two_do_not() -> None:
    """The width is a choice of the lesson."""
    assert Calculator(64).compute("0xffffffff + 2") == ("", 0x100000001)
    assert Calculator(64).compute("rotl(0x8000000000000000, 1)") == ("", 1)


def test_results_keep_their_names() -> None:
    """One round of a mixer is typed as it is printed."""
    calculator = Calculator(32, {"a": 0xB51F9CF7, "b": 0xE890B2B9, "c": 0x654F8934})
    for line in ("a = a - b - c", "a ^= c >> 13", "b = b - c - a", "b = b ^ (a << 8)"):
        name, value = calculator.compute(line)
        assert calculator.names[name] == value
    assert calculator.names["c"] == 0x654F8934


@pytest.mark.parametrize(
    "line", ["", "a + 1", "5 % 0", "5 //", "2 ** 3", "open('x')", "rotl(1)", "a.b = 5", "rotl = 5", "1 << 2; 3",
             "0x1ffffffff", "x := 5", "1.5", "a = b = 5", "(" * 300, "5" * 401, "True"],
)  # fmt: skip
def test_anything_else_is_refused(line: str) -> None:
    """A line is read as arithmetic, and nothing else is run."""
    calculator = Calculator()
    with pytest.raises(CalculatorError):
        calculator.compute(line)
    assert calculator.names == {}


def test_a_step_offers_a_calculator_below_its_question() -> None:
    """The line has the width, and the numbers that it begins with."""
    text = "# A\n\n## B\n\n- calculator: 32 | a = 0x9e3779b9 | c = {value of header/version}\n"
    step = parse(f"{text}- ask: c?\n- answer number: 1\n", "a").steps[0]
    assert step.calculator is not None
    assert step.calculator.width == 32
    assert step.calculator.values == (("a", "0x9e3779b9"), ("c", "{value of header/version}"))
    with pytest.raises(LessonError, match="asks nothing"):
        parse(text, "a")
    with pytest.raises(LessonError, match="32 or 64"):
        parse(text.replace("32 |", "16 |") + "- ask: c?\n- answer number: 1\n", "a")
