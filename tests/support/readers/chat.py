"""A run as a conversation, for questions about why: who says what, which tools are asked for, and what they give."""

from typing import Any

from playhead.model import event as ev
from playhead.model.message import Message, text_message
from tests.support.readers.fake import RUN, FakeStore, Story, record_of


class Chat(Story):
    """Each step of the conversation adds its events as the projector would."""

    def __init__(self, store: FakeStore, system: str = "", run: str = RUN, tools: Any = None) -> None:
        super().__init__(store)
        self.run = run
        self.tools = store.keep(tools) if tools is not None else None
        self.thread: list[Message] = []
        self.new: list[Message] = [text_message("system", system)] if system else []
        self._calls = 0
        self.add(ev.RunStarted, "root", name="support")

    def add(self, cls: type[Any], span: str | None = None, **fields: Any) -> Any:
        event = super().add(cls, span, **fields)
        self.events[-1] = type(event)(**{**vars(event), "run": self.run})
        return self.events[-1]

    def user(self, text: str) -> None:
        self.new.append(text_message("user", text))

    def says(self, text: str) -> ev.LlmCompleted:
        return self._answers(text_message("assistant", text))

    def asks(self, name: str, arguments: Any, result: Any = None, error: str = "", said: str = "", thinks: str = ""):
        """The model asks for a tool; the tool is called, and gives the result, or raises.  The call's event."""
        self._calls += 1
        call_id = f"c{self._calls}"
        part = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
        texts = [{"type": "text", "content": said}] if said else []
        self._answers({"role": "assistant", "parts": [*texts, part]}, thinks)
        return self.calls(name, arguments, result, error, call_id)

    def calls(self, name: str, arguments: Any, result: Any = None, error: str = "", call_id: str | None = None) -> Any:
        """A tool is called, whoever asked for it."""
        span = f"t{len(self.events)}"
        called = self.add(ev.ToolCalled, span, name=name, arguments=self.store.keep(arguments))
        if error:
            self.add(ev.ToolFailed, span, name=name, error_type="ToolError", message=error)
        else:
            self.add(ev.ToolCompleted, span, name=name, result=self.store.keep(result))
        if call_id is not None:
            response = {"type": "tool_call_response", "id": call_id, "response": error or result}
            self.new.append({"role": "tool", "parts": [response]})
        return called

    def done(self) -> Any:
        self.add(ev.RunCompleted, "root", elapsed_ms=1.0)
        self.store.keep_run(self.events, self.run)
        return record_of(self.store, self.run)

    def _answers(self, output: Message, thinks: str = "") -> ev.LlmCompleted:
        span = f"m{len(self.events)}"
        self.thread += self.new
        thread = self.store.keep_thread(self.thread)
        for node, message in list(zip(thread.nodes, self.thread, strict=True))[len(self.thread) - len(self.new) :]:
            self.add(ev.MessageAdded, span, role=message["role"], message=node.message)
        self.add(ev.LlmCalled, span, model="m", messages=len(self.thread), thread=thread.ref, tools=self.tools)
        reasoning = self.store.keep(thinks) if thinks else None
        answer = self.store.keep_thread([output])
        completed = self.add(ev.LlmCompleted, span, model="m", thread=answer.ref, reasoning=reasoning)
        self.add(ev.MessageAdded, span, role="assistant", source="output", message=answer.nodes[0].message)
        self.thread.append(output)
        self.new = []
        return completed
