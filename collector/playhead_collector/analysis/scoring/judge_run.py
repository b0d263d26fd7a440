"""[analysis]: the calls of a judge as a recorded run, which names the run that it judged. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model import names
from playhead.model.canonical import Content, content_of
from playhead.model.message import message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.span import STATUS_ERROR, Span
from playhead.wire.pack import ThreadExtension
from playhead_collector.analysis.scoring.judge import JudgedTokens
from playhead_collector.store.ports.scorers import JUDGE_AGENT
from playhead_collector.store.ports.spans import Batch


@dataclass(slots=True)
class JudgeRun:
    """The run of a judge. `run`: its id, 32 hex digits; `judged`: the run that it is about, which is for `user`: so is
    this one, since it holds texts of the other."""

    run: str
    scorer: str
    judged: str
    user: str | None
    started_ns: int
    _spans: list[Span] = field(default_factory=list[Span])
    _contents: dict[ContentRef, Content] = field(default_factory=dict[ContentRef, Content])
    _threads: list[ThreadExtension] = field(default_factory=list[ThreadExtension])

    def add_call(
        self,
        body: dict[str, Any],
        answer: str | None,
        tokens: JudgedTokens,
        times_ns: tuple[int, int],
        error: str | None = None,
    ) -> None:
        """Adds a call of the model. `answer` None: it gave none, because of `error`."""
        number = len(self._spans) + 1
        asked = self._thread(body["messages"])
        attributes: dict[str, Any] = {
            names.KIND: "llm",
            names.OPERATION: "chat",
            names.REQUEST_MODEL: body["model"],
            names.INPUT_MESSAGES_REF: asked,
            names.REQUEST_REF: self._keep({name: body[name] for name in ("response_format",) if name in body}),
            names.LINKED_RUNS: [self.judged],
        }
        if answer is not None:
            attributes[names.OUTPUT_MESSAGES_REF] = self._thread([{"role": "assistant", "content": answer}])
            attributes |= {names.INPUT_TOKENS: tokens.input_tokens, names.OUTPUT_TOKENS: tokens.output_tokens}
        span = self._span(number, f"chat {body['model']}", times_ns, attributes)
        if error is not None:
            span.status, span.status_message = STATUS_ERROR, error
            span.attributes[names.ERROR_TYPE] = "JudgeError"
        self._spans.append(span)

    def batch(self, ended_ns: int) -> Batch:
        """Returns what is stored."""
        count = len(self._spans)
        for number, span in enumerate(self._spans, 1):
            span.attributes |= {names.CALL_ENDED_AFTER: number + 1, names.CALL_END_ORDER: number}
        user = {} if self.user is None else {names.USER: self.user}
        root = self._span(
            0,
            f"invoke_agent {JUDGE_AGENT}",
            (self.started_ns, ended_ns),
            {
                names.KIND: "agent",
                names.RUN_ROOT: True,
                names.RUN_NAME: f"judge {self.scorer}",
                names.AGENT_NAME: JUDGE_AGENT,
                names.LINKED_RUNS: [self.judged],
                names.CALL_ENDED_AFTER: count + 1,
                names.CALL_END_ORDER: count + 1,
                **user,
            },
        )
        return Batch([root, *self._spans], [], list(self._contents.values()), self._threads, about=self.judged)

    def _span(self, number: int, name: str, times_ns: tuple[int, int], attributes: dict[str, Any]) -> Span:
        own: dict[str, Any] = {names.RUN_ID: self.run, names.RUN_ATTEMPT: 0, names.CALL_ORDER: number + 1}
        parent = None if number == 0 else self._span_id(0)
        return Span(
            self.run, self._span_id(number), parent, name, times_ns[0], times_ns[1], own | attributes, scope=names.SCOPE
        )

    def _span_id(self, number: int) -> str:
        return f"{int(self.run[:14], 16):014x}{number + 1:02x}"

    def _thread(self, messages: Sequence[dict[str, str]]) -> ContentRef | None:
        contents = [message_contents(text_message(message["role"], message["content"])) for message in messages]
        self._contents |= {content.ref: content for parts in contents for content in parts}
        thread = ThreadExtension(None, tuple(parts[0].ref for parts in contents))
        self._threads.append(thread)
        return thread.ref

    def _keep(self, value: object) -> ContentRef:
        content = content_of(value)
        self._contents[content.ref] = content
        return content.ref
