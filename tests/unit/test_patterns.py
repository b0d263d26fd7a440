"""Every regular expression takes time in proportion to the text that it is given, whatever the text.

All patterns of both packages are found by themselves: those in modules, and, in the source, any call of `re` within a
function, which is allowed only where it is listed here with an example.  By default each pattern is measured on
every named shape with one end; PLAYHEAD_LONG_TEXTS=all measures it on those made of punctuation and with more ends.
"""

import ast
import gc
import importlib
import os
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import playhead
import playhead_collector
from playhead.model.objects.masking import Mask
from playhead.wire.operations.bounds import text_pattern
from playhead.wire.operations.operation import path_pattern
from playhead_collector.analysis.reasoning.written_down import block_pattern
from tests.support.hostile_texts import ENDS, ON_PUNCTUATION, UNITS, text_of_shape, truncated_json

# Patterns made in functions: where, and one of them.
MADE: dict[str, re.Pattern[Any]] = {
    "playhead_collector.analysis.reasoning.written_down": block_pattern("reasoning"),
    "playhead.model.objects.masking": cast(re.Pattern[str], vars(Mask())["_in_text"]),
    # Of declared operations: a path, and the longest pattern of a parameter.
    "playhead.wire.operations.operation": path_pattern("/runs/{run}/decisions/{seq}"),
    "playhead.wire.operations.bounds": text_pattern(r"^(input|name|session|user|tag:[^\x00]*)$"),
}
# Patterns that a test's author writes for the mock model server: theirs, and never given a text from the wild.
OF_USERS = {
    "playhead.testing.rules", "playhead_collector.destination_settings",
    "playhead_collector.analysis.turns.run_search",  # a text, escaped
    # Of whoever may set scorers; they run in a process with a limit of time.
    "playhead_collector.analysis.scoring.rules",
    "playhead_collector.redaction.patterns",  # of a kind whose time is bounded: tests/unit/redaction
}  # fmt: skip
ALL = os.environ.get("PLAYHEAD_LONG_TEXTS") == "all"
SHORT, LONG = 2_500, 5_000
MOST = 2.5
# Below this, the clock says more about the machine than about the pattern; a quadratic one is far above it.
TOO_SHORT_TO_TELL = 0.003
DOUBLINGS = 5


def modules() -> Iterator[ModuleType]:
    for package in (playhead, playhead_collector):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                try:
                    yield importlib.import_module(found.name)
                except ImportError:  # made for a framework that is not installed
                    continue


def patterns() -> dict[str, re.Pattern[Any]]:
    found: dict[str, re.Pattern[Any]] = {}
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                found.setdefault(f"{value.flags}{value.pattern!r}", value)
                found[f"{module.__name__}.{name}"] = found.pop(f"{value.flags}{value.pattern!r}")
    return found | {f"{module} (made)": pattern for module, pattern in MADE.items()}


PATTERNS = patterns()
ON_ALL = [(shape, end) for shape in UNITS for end in (ENDS[:1] if shape.endswith(ON_PUNCTUATION) else ENDS[1:3])]
ON_SOME = [(shape, ENDS[1 + number % 2]) for number, shape in enumerate(UNITS) if not shape.endswith(ON_PUNCTUATION)]


def test_no_pattern_is_made_where_this_test_does_not_see_it() -> None:
    hidden: list[str] = []
    for package in (playhead, playhead_collector):
        root = Path(package.__file__ or "").parent
        for path in root.rglob("*.py"):
            name = ".".join((package.__name__, *path.relative_to(root).with_suffix("").parts))
            text = path.read_text("utf-8")
            if "import re\n" not in text:
                continue
            tree = ast.parse(text)
            calls = [call for call in _in_functions(tree) if _is_of_re(call)]
            hidden += [f"{name}:{getattr(call, 'lineno', 0)}" for call in calls if name not in {*MADE, *OF_USERS}]
    assert not hidden, "make these patterns in their module, under a name, so that their time is measured here"
    assert len(PATTERNS) > 40


def _in_functions(tree: ast.Module) -> Iterator[ast.AST]:
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if inside:
            yield node
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]


def _is_of_re(node: ast.AST) -> bool:
    made = ("compile", "match", "search", "sub", "subn", "findall", "finditer", "fullmatch", "split")
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in made
    )


@pytest.mark.parametrize("name", PATTERNS)
def test_twice_the_text_takes_at_most_twice_the_time(name: str) -> None:
    pattern = PATTERNS[name]
    for shape, end in ON_ALL if ALL else ON_SOME:
        assert_linear(pattern, lambda length, shape=shape, end=end: text_of_shape(shape, length, end), shape + end)
    assert_linear(pattern, truncated_json, "truncated JSON")


NOT_LINEAR = (r'"((?:[^"\\]|\\.)*)"\s*:', r"[A-Z][\w']*[a-z]\b", r"\s*$", r"(?:-v\d+|:\d+)+(?::\d+)*$")


@pytest.mark.parametrize("source", NOT_LINEAR)
def test_the_measure_tells_what_is_not_linear(source: str) -> None:
    with pytest.raises(AssertionError, match="characters of|after"):
        assert_linear_on_all_shapes(re.compile(source))


def assert_linear_on_all_shapes(pattern: re.Pattern[str]) -> None:
    for shape in UNITS:
        assert_linear(pattern, lambda length, shape=shape: text_of_shape(shape, length, "!"), shape)


SIGNS = "aA1 _-'\"\\/.,:;#<>{}[]()*\n"


@pytest.mark.parametrize("sign", SIGNS)
def test_no_pattern_is_slow_on_one_sign_again_and_again(sign: str) -> None:
    for name, pattern in PATTERNS.items():
        assert_linear(pattern, lambda length: sign * length + "\n", f"{name} on {sign!r}")


@settings(max_examples=200 if ALL else 10, deadline=None)
@given(
    unit=st.text(alphabet=st.sampled_from(SIGNS), min_size=1, max_size=4),
    end=st.sampled_from(ENDS),
)
def test_no_pattern_is_slow_on_what_a_generator_thinks_of(unit: str, end: str) -> None:
    for name, pattern in PATTERNS.items():
        assert_linear(pattern, lambda length: (unit * length)[:length] + end, f"{name} on {unit!r}")


def assert_linear(pattern: re.Pattern[Any], made: Callable[[int], str], note: str) -> None:
    """Measured only where the text takes long enough to tell; a short one first, in case it takes for ever.

    Others use this machine: what looks too long is measured again with texts of twice the length.  There a pattern
    that is linear takes so long that the noise is small beside it, and one that is not is as far from it as before.
    """
    longest = seconds(pattern, made(LONG // 8), 1)
    if longest >= 0.1:
        longest = seconds(pattern, made(LONG // 8), 3)
    assert longest < 0.1, f"{pattern.pattern!r}: {longest:.3f} s for {LONG // 8} characters of {note}"
    if seconds(pattern, made(LONG), 1) < TOO_SHORT_TO_TELL:
        return
    for doubling in range(DOUBLINGS):
        whole, half = seconds_of_both(pattern, made(LONG << doubling), made(SHORT << doubling), 1 + 2 * doubling)
        if whole <= MOST * half:
            return
        if whole > 0.2:  # nothing linear takes so long
            break
    raise AssertionError(f"{pattern.pattern!r}: {whole:.4f} s after {half:.4f} s, on {note}")


def seconds_of_both(pattern: re.Pattern[Any], long: str, short: str, times: int) -> tuple[float, float]:
    """In turns, so that whatever slows the machine for a while slows both."""
    taken = [(seconds(pattern, long, 1), seconds(pattern, short, 1)) for _ in range(times)]
    return min(whole for whole, _ in taken), min(half for _, half in taken)


def seconds(pattern: re.Pattern[Any], text: str, times: int) -> float:
    """The least of so many measurements, of processor time."""
    data: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    taken: list[float] = []
    gc.disable()
    try:
        for _ in range(times):
            begun = time.process_time()
            for _ in pattern.finditer(data):
                pass
            pattern.match(data)
            pattern.fullmatch(data)
            taken.append(time.process_time() - begun)
    finally:
        gc.enable()
    return min(taken)
