"""Converts the recorded parts of a run to the text of a pytest file.  Pure."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from playhead_collector.read.as_test.literals import LINE_CHARACTERS, block, literal
from playhead_collector.read.as_test.model_answers import RecordedTurn, answer_source, names_used
from playhead_collector.read.as_test.waits import GivenAnswer

_WORD = re.compile(r"[^0-9a-zA-Z]+")
# A UUID, with or without dashes.
_RANDOM_ID = re.compile(r"\b[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}\b")
# Keys in LangChain's messages, and in LangGraph's result when it waits.
_OF_PROVIDERS = frozenset({"response_metadata", "usage_metadata", "__interrupt__"})
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class RunToTest:
    """The parts of a run for its test: the model's answers to play, and the tool calls and the end to assert.

    `program`: how the process was started (a script, or `-m MODULE`). `function`: module and qualified name of the
    agent's function. `input`: the arguments of the outermost call.
    `in_order`: whether no two tool calls overlapped.
    `given`: the answers of people. `runs_before`: how many runs the program makes before this one, which begins with
    the answers to their questions. `waits`: whether the run ends with an open question.
    """

    run: str
    name: str | None
    begun: str
    status: str
    exchanges: Sequence[RecordedTurn]
    tools: Sequence[tuple[str, Any]]
    in_order: bool = True
    output: Any = None
    answer: str | None = None
    error_type: str | None = None
    program: str | None = None
    function: str | None = None
    input: Any = field(default=None)
    given: Sequence[GivenAnswer] = ()
    runs_before: int = 0
    waits: bool = False


def pytest_source(run: RunToTest) -> str:
    """Returns the text of the file."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: RunToTest) -> Iterator[str]:
    answers = [(turn.asked, source) for turn in run.exchanges if (source := answer_source(turn, 8)) is not None]
    start, imports, also = _start(run)
    used = sorted({"RecordedAnswers", *names_used(source for _, source in answers), *also}, key=str.casefold)
    yield f'"""Run {run.run} of {_plain(run.name or "an agent")}, recorded on {run.begun[:19]}Z, as a test.'
    yield ""
    yield "Written by `playhead export --as test`, to be kept and edited.  A mock model gives the recorded answers; the"
    yield "program's own tools are run."
    yield '"""'
    yield ""
    yield from imports
    yield from ([""] if imports else [])
    yield _import_line(used)
    yield ""
    yield "# What the model was asked last, and what it answered."
    pairs = (_pair(question, source) for question, source in answers)
    yield f"ANSWERS = {block('[', pairs, ']', 0)}"
    yield "# The tools that were called, with their arguments."
    tools = (f"({name!r}, {literal(arguments, 4, len(name) + 6)})" for name, arguments in run.tools)
    yield f"TOOL_CALLS = {block('[', tools, ']', 0)}"
    yield ""
    yield ""
    yield from start
    yield ""
    yield ""
    yield from _test(run)


def _pair(question: str, answer: str) -> str:
    line = f"({question!r}, {answer})"
    if len(line) + 4 <= LINE_CHARACTERS and "\n" not in line:
        return line
    return block("(", (literal(question, 8), answer), ")", 4)


def _test(run: RunToTest) -> Iterator[str]:
    word = _WORD.sub("_", run.name or "").strip("_").lower() or "recorded_run"
    yield f"def test_{word}_does_what_it_did(playhead_recorder, mock_model):"
    yield "    mock_model.otherwise(RecordedAnswers(ANSWERS))"
    yield from (f"    {answer.source(4)}" for answer in run.given)
    if run.waits:
        yield "    with playhead_recorder.until_it_waits():  # as it did when it was recorded"
        yield "        start_agent()"
    elif run.status == "failed":
        yield "    with contextlib.suppress(Exception):  # the run failed when it was recorded"
        yield "        start_agent()"
    else:
        yield "    start_agent()"
    if run.runs_before or run.waits:
        yield f"    run = playhead_recorder.runs[{run.runs_before}]"
    else:
        yield "    run = playhead_recorder.last"
    yield f"    run.assert_tool_calls(TOOL_CALLS{'' if run.in_order else ', ordered=False'})"
    if run.status in ("completed", "failed"):
        yield f"    assert run.status == {run.status!r}"
    if run.error_type is not None:
        yield f"    assert run.error is not None and run.error.type == {run.error_type!r}"
    elif run.output is not None and is_repeatable(run.output):
        yield f"    assert run.output == {literal(run.output, 4, 21)}"
    elif run.answer is not None:
        yield f"    assert run.answer == {literal(run.answer, 4, 21)}"


def is_repeatable(output: Any) -> bool:
    """Returns whether an agent that does the same again ends with an equal value. It does not if the value has random
    ids, or metadata of a provider such as token counts."""
    match output:
        case dict():
            named = cast("dict[str, Any]", output)
            return _OF_PROVIDERS.isdisjoint(named) and all(map(is_repeatable, named.values()))
        case list():
            return all(map(is_repeatable, cast("list[Any]", output)))
        case str():
            return _RANDOM_ID.search(output) is None
        case _:
            return True


def _start(run: RunToTest) -> tuple[list[str], list[str], list[str]]:
    """Returns the lines of `start_agent()`, its imports, and the names that it uses from `playhead.testing`."""
    imports = ["import contextlib"] if run.status == "failed" and not run.waits else []
    head = ["def start_agent():"]
    called = _callable_name(run)
    if called is not None:
        module, _, function = called.rpartition(".")
        input_source = ", ".join(f"{name}={literal(value, 8)}" for name, value in _arguments(run).items())
        doc = '    """As it was called when the run was recorded."""'
        body = ["    playhead.instrument()", f"    complete({function}({input_source}))"]
        return [*imports, "import playhead", f"from {module} import {function}"], [*head, doc, *body], ["complete"]
    if run.program is not None and not (run.program.startswith("-m ") and _is_of_python(run.program[3:])):
        doc = '    """Starts the recorded program; add the arguments that it was started with, if any."""'
        return [*head, doc, f"    run_program({run.program!r})"], imports, ["run_program"]
    doc = '    """Say here how your agent is started: the record does not."""'
    input_source = [f"    # It was given {run.input!r}"[:LINE_CHARACTERS]] if run.input is not None else []
    skip = '    pytest.skip("say in start_agent() how your agent is started: the record does not")'
    return [*head, doc, *input_source, skip], [*imports, "import pytest"], []


def _arguments(run: RunToTest) -> dict[str, Any]:
    value: object = run.input
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _callable_name(run: RunToTest) -> str | None:
    """Returns the agent's function if it can be imported and called with the recorded arguments; else None."""
    if run.function is None or not (run.input is None or isinstance(run.input, dict)):
        return None
    *modules, last = run.function.split(".")
    # A capitalised name before the last one is a class. The record does not say how the method's object was made.
    is_method = bool(modules) and modules[-1][:1].isupper()
    is_plain = all(_IDENTIFIER.fullmatch(word) for word in (*modules, last, *_arguments(run)))
    is_agent = is_plain and not is_method and modules != ["__main__"] and not _is_of_python(run.function)
    return run.function if modules and is_agent else None


def _is_of_python(name: str) -> bool:
    """Returns whether a name is in Python's standard library. Such a function is not an agent, but may be `os.system`
    in a forged record."""
    return name.partition(".")[0] in sys.stdlib_module_names


def _import_line(used: Sequence[str]) -> str:
    line = f"from playhead.testing import {', '.join(used)}"
    if len(line) <= LINE_CHARACTERS:
        return line
    return f"from playhead.testing import {block('(', iter(used), ')', 0)}"


def _plain(text: str) -> str:
    """Returns at most 60 characters that are safe within one line of a docstring."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:60].replace("\\", "/").replace('"', "'")
