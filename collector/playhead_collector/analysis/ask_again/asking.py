"""Repeats the request of a recorded call with a model of the operator, and stores its answer beside the run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from playhead.model.canonical import JSON, Content, canonical_json
from playhead.model.event import LlmCalled
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations.reasoning import AskedAgain, AskedAnswer
from playhead_collector.analysis.ask_again.request import Changes, answered_message, request_body, settings_of
from playhead_collector.analysis.decisions.same_context import chosen_in, read_sibling
from playhead_collector.errors import Refused
from playhead_collector.read.owning_call import model_call_at
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.values import ContentCache, fetch, fetch_thread


class ChatModels(Protocol):
    """The models that the operator configured; the first one is the default."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the models."""
        ...

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Sends a request body, and returns the chat completion.  Raises Refused (502)."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """A prepared request: `body` for the model, `settings` in it, and the `recorded` answer (None: not recorded)."""

    record: RunRecord
    begin: LlmCalled
    changes: Changes
    body: dict[str, Any]
    settings: dict[str, Any]
    recorded: AskedAnswer | None


async def prepare(record: RunRecord, at: str | None, changes: Changes, models: ChatModels) -> PreparedQuestion:
    """Prepares the call that `at` belongs to (None: the last one), with the changes.  Raises Refused."""
    model = models.names[0] if changes.model is None else changes.model
    if model not in models.names:
        names = ", ".join(models.names)
        message = f"the model {model[:100]!r} is not configured: name one of {names}, or add it to PLAYHEAD_ASK_MODELS"
        raise Refused(422, "unknown_model", message)
    begin = (await model_call_at(record, await seq_at(record, at))).begin
    others = (begin.system, begin.tools, begin.request)
    thread, cache = await fetch_thread(record.store, record.project_id, begin.thread, *others)
    body = request_body(begin, thread, cache, changes, model)
    return PreparedQuestion(
        record, begin, changes, body, settings_of(begin, cache), await _recorded_answer(record, begin)
    )


async def ask(question: PreparedQuestion, models: ChatModels, clock: Callable[[], int]) -> AskedAgain:
    """Asks the model, and stores its answer as content that no event names.  Raises Refused."""
    record, begin = question.record, question.begin
    completion = await models.complete(question.body)
    try:
        message, finish_reason = answered_message(completion)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        message = "the model answered something that is no chat completion: see PLAYHEAD_EXPLAIN_URL"
        raise Refused(502, "explainer_failed", message) from error
    answer = cast(AskedAnswer, chosen_in([message]))
    value: dict[str, Any] = {
        "run": record.run,
        "seq": begin.seq,
        "model": question.body["model"],
        "created": rfc3339(clock()),
        "changed": question.changes.names,
        "system": question.changes.system,
        "messages": None if question.changes.messages is None else list(question.changes.messages),
        "settings": question.settings,
        "answer": answer,
        "recorded": question.recorded,
        "same": canonical_json(answer) == canonical_json(question.recorded),
        "finish_reason": None if finish_reason is None else str(finish_reason),
        "usage": _usage(completion),
    }
    content = Content(canonical_json({**value, "thread": begin.thread}), JSON)
    subject = ContentRef.of(b"asked again: " + content.data)
    await record.store.keep_explanation(record.project_id, record.run, subject, value["model"], content)
    return cast(AskedAgain, {**value, "ref": content.ref})


async def _recorded_answer(record: RunRecord, begin: LlmCalled) -> AskedAnswer | None:
    if begin.thread is None:
        return None
    call = await read_sibling(record, record.run, begin.seq, begin.thread)
    if call is None or not call.outputs:
        return None
    cache: ContentCache = await fetch(record.store, record.project_id, call.outputs)
    return cast(AskedAnswer, chosen_in(message for ref in call.outputs if (message := cache.parsed_message(ref))))


def _usage(completion: Mapping[str, Any]) -> dict[str, int]:
    usage: Any = completion.get("usage")
    reported = cast(dict[str, Any], usage) if isinstance(usage, dict) else {}
    names = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
    return {ours: reported[name] for ours, name in names.items() if isinstance(reported.get(name), int)}


def no_model_to_ask() -> Refused:
    """Error: no model is configured."""
    return Refused(
        409,
        "no_model",
        "no model is configured that could be asked: set PLAYHEAD_EXPLAIN_URL and PLAYHEAD_EXPLAIN_MODEL for the "
        "collector, PLAYHEAD_EXPLAIN_API_KEY if it needs one, and PLAYHEAD_ASK_MODELS for further models there",
    )
