"""A run as the text of a pytest file, in which the mock model server plays the recorded answers of the model.

The recorded calls are read, each answer becomes an expression of `playhead.testing` that gives the same answer, and the
test asserts the same tool calls and the same end.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from playhead.model import event as ev
from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.json_value import object_of
from playhead.model.message import Message, Part
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.times import rfc3339
from playhead_collector.errors import ContentMissing, Refused
from playhead_collector.read.calls import LLM_END, TOOL_END, CallEvents, CallPairing, LlmEnd, ToolEnd
from playhead_collector.read.given_answers import GivenAnswer, RunWaits, answers_given, refs_of
from playhead_collector.read.python_source import LINE_CHARACTERS, block, call_source, literal
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch, messages_of
from playhead_collector.store.ports.runs import RunFilter

# Nobody reads a longer file, and the whole thread of each call is read to get its last message.
MAX_MODEL_CALLS = 500
_MAX_TOOL_CALLS = 10_000
# At most this many runs of the session are searched for the question with whose answer a run begins.
_MOST_BEFORE = 50


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A model call to be replayed: the text of the last message that the model was sent (`asked_text`), and its answer
    or error.

    `error`: type and message of the exception, for a call that failed.
    """

    asked_text: str
    answer: Message | None
    finish_reasons: Sequence[str] = ()
    error: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class RunToTest:
    """The parts of a run for its test: the model's answers to play, and the tool calls and the end to assert.

    `program`: how the process was started (a script, or `-m MODULE`). `function`: module and qualified name of the
    agent's function. `input`: the arguments of the outermost call.
    `in_order`: whether no two tool calls overlapped.
    `given_answers`: the answers of people. `runs_before`: how many runs the program makes before this one, which begins
    with the answers to their questions. `waits`: whether the run ends with an open question.
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
    given_answers: Sequence[GivenAnswer] = ()
    runs_before: int = 0
    waits: bool = False


async def read_test_file(record: RunRecord) -> str:
    """Returns the text of a pytest file.  Raises Refused if there are no model calls or too many calls, or if contents
    are not stored."""
    models: CallPairing[ev.LlmCalled, LlmEnd] = CallPairing(ev.LlmCalled, LLM_END, MAX_MODEL_CALLS)
    tools: CallPairing[ev.ToolCalled, ToolEnd] = CallPairing(ev.ToolCalled, TOOL_END, _MAX_TOOL_CALLS)
    ends: list[ev.RunEvent] = []
    waits = RunWaits()
    async for events in record.onwards(0):
        models.take(events)
        tools.take(events)
        waits.add(events)
        ends += [event for event in events if isinstance(event, ev.RunStarted | ev.RunCompleted | ev.RunFailed)]
    _check_size(record, models, tools)
    try:
        earlier = await _asked_before(record, waits.questions_of_earlier_runs)
        return await _read_source(
            record, models.calls, tools.calls, ends, [*earlier, _RunBefore(record, models.calls, waits)]
        )
    except ContentMissing as error:
        raise _without_content(record, str(error)) from error


def _check_size(record: RunRecord, models: CallPairing[Any, Any], tools: CallPairing[Any, Any]) -> None:
    if not models.calls:
        raise Refused(
            409, "no_model_calls", f"run {record.run} has no model call that a test could play: choose another run"
        )
    if models.more or tools.more:
        limits = f"{MAX_MODEL_CALLS} model calls and {_MAX_TOOL_CALLS:,} tool calls"
        raise Refused(413, "too_large", f"run {record.run} has more than {limits}: make a test of a shorter run")


@dataclass(slots=True)
class _RunBefore:
    """A run with its model calls and its questions to people."""

    record: RunRecord
    models: Sequence[CallEvents[ev.LlmCalled, LlmEnd]]
    waits: RunWaits


async def _asked_before(record: RunRecord, waits: set[str]) -> list[_RunBefore]:
    """Returns earlier runs of the session, oldest first: the runs that asked these questions, and the runs that asked
    the questions with whose answers those runs begin."""
    session, wanted, runs = record.row.session, set(waits), list[_RunBefore]()
    if session is None or not wanted:
        return []
    where = RunFilter(session=session, until_ns=record.row.started_ns)
    for row in await record.store.runs.page(record.project_id, where, limit=_MOST_BEFORE):
        if not wanted or row.run == record.run:
            continue
        models: CallPairing[ev.LlmCalled, LlmEnd] = CallPairing(ev.LlmCalled, LLM_END, MAX_MODEL_CALLS)
        before = _RunBefore(RunRecord(record.store, record.project_id, row), models.calls, RunWaits())
        async for events in before.record.onwards(0):
            models.take(events)
            before.waits.add(events)
        if wanted & before.waits.questions.keys():
            runs.insert(0, before)
            wanted = (wanted - before.waits.questions.keys()) | before.waits.questions_of_earlier_runs
    return runs


async def _read_source(
    record: RunRecord,
    models: Sequence[CallEvents[ev.LlmCalled, LlmEnd]],
    tools: Sequence[CallEvents[ev.ToolCalled, ToolEnd]],
    ends: Sequence[ev.RunEvent],
    runs: Sequence[_RunBefore],
) -> str:
    """Returns the text of the file. `runs`: the runs that the program makes first, and then this run."""
    played = [(run.record, call) for run in runs for call in run.models]
    threads = [await _last_messages(of, call) for of, call in played]
    begun = next((event for event in ends if isinstance(event, ev.RunStarted)), None)
    done = next((event for event in reversed(ends) if isinstance(event, ev.RunCompleted)), None)
    failed = next((event for event in reversed(ends) if isinstance(event, ev.RunFailed)), None)
    refs = [ref for pair in threads for ref in pair] + [call.begin.arguments for call in tools]
    refs += [begun and begun.input, done and done.output, *refs_of([run.waits for run in runs])]
    cache = await fetch(record.store, record.project_id, refs)
    exchanges = [_recorded_turn(call, pair, cache) for (_, call), pair in zip(played, threads, strict=True)]
    own_turns = exchanges[len(exchanges) - len(models) :]
    waits = runs[-1].waits
    answers = answers_given([run.waits for run in runs], cache)
    called = [(call.begin.name, cache.parsed(call.begin.arguments)) for call in tools]
    output = cache.parsed(done.output) if done is not None else None
    if cache.missing:
        raise _without_content(record, f"{len(cache.missing)} contents are not stored")
    if cache.masked:
        why = f"of {len(cache.masked)} contents, a part was masked by the redaction rules of the project"
        raise Refused(409, "masked_content", f"run {record.run} cannot become a test: {why}; make one of another run")
    spans = await record.store.spans.read(record.project_id, record.run)
    row = record.row
    return pytest_source(
        RunToTest(
            run=record.run,
            name=row.name,
            begun=rfc3339(row.started_ns),
            status=row.status,
            exchanges=exchanges,
            tools=called,
            in_order=_is_in_order(tools),
            output=output,
            answer=_last_answer(own_turns),
            given_answers=answers,
            runs_before=len(runs) - 1,
            waits=any(waits.is_left(wait) for wait in waits.questions),
            error_type=failed.error_type if failed is not None and row.status == "failed" else None,
            program=_root_attribute(spans, names.PROGRAM),
            function=_root_attribute(spans, names.CODE_FUNCTION),
            input=cache.parsed(begun.input) if begun is not None else None,
        )
    )


async def _last_messages(
    record: RunRecord, call: CallEvents[ev.LlmCalled, LlmEnd]
) -> tuple[ContentRef | None, ContentRef | None]:
    """Returns the refs of the last message that the model was sent, and of the last message of its answer."""
    sent = await messages_of(record.store, record.project_id, call.begin.thread)
    answered = await messages_of(record.store, record.project_id, call.end.thread if call.end is not None else None)
    return sent[-1] if sent else None, answered[-1] if answered else None


def _recorded_turn(
    call: CallEvents[ev.LlmCalled, LlmEnd], pair: tuple[ContentRef | None, ContentRef | None], cache: ContentCache
) -> RecordedTurn:
    sent_message, answered = (cache.parsed_message(ref) for ref in pair)
    end = call.end
    if isinstance(end, ev.LlmFailed):
        error = (end.error_type, end.message) if end.outcome is None else None
        return RecordedTurn(asked_text(sent_message), None, error=error)
    return RecordedTurn(asked_text(sent_message), answered, end.finish_reasons if end is not None else ())


def _last_answer(exchanges: Sequence[RecordedTurn]) -> str | None:
    answers: list[Message] = [turn.answer for turn in exchanges if turn.answer is not None]
    texts = [part.get("content") for part in answers[-1]["parts"] if part.get("type") == "text"] if answers else []
    return "".join(text for text in texts if isinstance(text, str)) or None


def _is_in_order(tools: Sequence[CallEvents[ev.ToolCalled, ToolEnd]]) -> bool:
    """Returns whether each tool call had ended before the next one began."""
    ended = 0
    for call in tools:
        if call.begin.seq < ended:
            return False
        ended = max(ended, call.end.seq if call.end is not None else call.begin.seq)
    return True


def _root_attribute(spans: Sequence[Span], attribute: str) -> str | None:
    """Returns an attribute of the run's root span; None if it is missing or not a string."""
    root = next((span for span in spans if span.attributes.get(names.RUN_ROOT)), None)
    value = root.attributes.get(attribute) if root is not None else None
    return value if isinstance(value, str) else None


def _without_content(record: RunRecord, why: str) -> Refused:
    return Refused(
        404,
        "content_missing",
        f"run {record.run} cannot become a test ({why}): that takes a run with its content (PLAYHEAD_CAPTURE_CONTENT)",
    )


# --- the file, pure --------------------------------------------------------------------------------------------------

_NOT_IN_WORDS = re.compile(r"[^0-9a-zA-Z]+")
# A UUID, with or without dashes.
_RANDOM_ID = re.compile(r"\b[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}\b")
# Keys in LangChain's messages, and in LangGraph's result when it waits.
_OF_PROVIDERS = frozenset({"response_metadata", "usage_metadata", "__interrupt__"})
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def pytest_source(run: RunToTest) -> str:
    """Returns the text of the file."""
    return "\n".join(_file_lines(run)) + "\n"


def _file_lines(run: RunToTest) -> Iterator[str]:
    answers = [(turn.asked_text, source) for turn in run.exchanges if (source := answer_source(turn, 8)) is not None]
    start, imports, also = _start_agent(run)
    used = sorted({"RecordedAnswers", *names_used(source for _, source in answers), *also}, key=str.casefold)
    yield f'"""Run {run.run} of {_docstring_text(run.name or "an agent")}, recorded on {run.begun[:19]}Z, as a test.'
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
    pairs = (_question_and_answer(question, source) for question, source in answers)
    yield f"ANSWERS = {block('[', pairs, ']', 0)}"
    yield "# The tools that were called, with their arguments."
    tools = (f"({name!r}, {literal(arguments, 4, len(name) + 6)})" for name, arguments in run.tools)
    yield f"TOOL_CALLS = {block('[', tools, ']', 0)}"
    yield ""
    yield ""
    yield from start
    yield ""
    yield ""
    yield from _test_lines(run)


def _question_and_answer(question: str, answer: str) -> str:
    line = f"({question!r}, {answer})"
    if len(line) + 4 <= LINE_CHARACTERS and "\n" not in line:
        return line
    return block("(", (literal(question, 8), answer), ")", 4)


def _test_lines(run: RunToTest) -> Iterator[str]:
    word = _NOT_IN_WORDS.sub("_", run.name or "").strip("_").lower() or "recorded_run"
    yield f"def test_{word}_does_what_it_did(playhead_recorder, mock_model):"
    yield "    mock_model.otherwise(RecordedAnswers(ANSWERS))"
    yield from (f"    {answer.source(4)}" for answer in run.given_answers)
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


def is_repeatable(output: object) -> bool:
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


def _start_agent(run: RunToTest) -> tuple[list[str], list[str], list[str]]:
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
    return object_of(value)


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


def _docstring_text(text: str) -> str:
    """Returns at most 60 characters that are safe within one line of a docstring."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:60].replace("\\", "/").replace('"', "'")


# --- the model's answers, pure ---------------------------------------------------------------------------------------

# This much of the message that the model answered is kept: enough to tell messages apart.
ASKED_CHARACTERS = 200
# Parts of the names of exceptions, and the function of `playhead.testing` that provokes them.
_FAILURES = (
    (("RateLimit", "ResourceExhausted", "Throttling"), "rate_limit"),
    (("BadRequest", "InvalidRequest", "Validation"), "context_too_long"),
    (("Connection", "Timeout"), "dropped_connection"),
)
_OWN_FINISH = {"length", "content_filter"}


def asked_text(message: Message | None) -> str:
    """Returns the beginning of a message's text, in the form in which the mock model server sees that text."""
    parts = message["parts"] if message is not None else []
    if parts and parts[-1].get("type") == "tool_call_response":
        response = parts[-1].get("response")
        return response[:ASKED_CHARACTERS] if isinstance(response, str) else ""
    texts = (part.get("content") for part in parts if part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))[:ASKED_CHARACTERS]


def answer_source(exchange: RecordedTurn, indent: int = 0) -> str | None:
    """Returns the source of the answer; None for a call without an answer, which cannot be played."""
    if exchange.error is not None:
        kind, message = exchange.error
        function = next((name for words, name in _FAILURES if any(word in kind for word in words)), "server_error")
        # Clients wait before they try again. In a test, they should wait for 0 seconds.
        soon = [0] if function == "rate_limit" else []
        return call_source(function, soon, {} if function == "dropped_connection" else {"message": message}, indent)
    if exchange.answer is None:
        return None
    finish = next((reason for reason in exchange.finish_reasons if reason in _OWN_FINISH), None)
    sources = _parts_sources(exchange.answer["parts"], indent, finish)
    if len(sources) <= 1:
        return sources[0] if sources else "text('')"
    joined = " + ".join(sources)
    if len(joined) + indent <= LINE_CHARACTERS and "\n" not in joined:
        return joined
    inner = " " * (indent + 4)
    sources = _parts_sources(exchange.answer["parts"], indent + 4, finish)
    return f"(\n{inner}" + f"\n{inner}+ ".join(sources) + f"\n{' ' * indent})"


def names_used(sources: Iterable[str]) -> list[str]:
    """Returns the names of the functions of `playhead.testing` that these sources call."""
    functions = ("context_too_long", "dropped_connection", "malformed_tool_call", "rate_limit", "server_error")
    text = "\n".join(sources)
    return [name for name in (*functions, "text", "thinking", "tool_call") if _is_called(text, name)]


def _is_called(text: str, name: str) -> bool:
    return any(f"{before}{name}(" in text for before in ("\n", " ", "(")) or text.startswith(f"{name}(")


def _parts_sources(parts: Sequence[Part], indent: int, finish: str | None) -> list[str]:
    return [source for part in parts if (source := _part_source(part, indent, finish)) is not None]


def _part_source(part: Part, indent: int, finish: str | None) -> str | None:
    match part:
        case {"type": "text", "content": str(content)}:
            return call_source("text", [content], {} if finish is None else {"finish_reason": finish}, indent)
        case {"type": "reasoning", "content": str(content)}:
            return call_source("thinking", [content], {}, indent)
        case {"type": "tool_call", "name": str(name)}:
            return _tool_call_source(name, part.get("arguments"), part.get("id"), indent)
        case _:
            return None


def _tool_call_source(name: str, arguments: object, call_id: object, indent: int) -> str:
    value: object = {} if arguments is None else arguments
    is_object = isinstance(value, dict)
    if not is_object and not isinstance(value, str):
        value = canonical_json(value).decode("utf-8", "replace")
    identified = {"call_id": call_id} if isinstance(call_id, str) else {}
    return call_source("tool_call" if is_object else "malformed_tool_call", [name, value], identified, indent)
