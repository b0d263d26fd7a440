"""How a module of a framework describes the framework's own model classes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from playhead.capture.client_methods import MethodCall
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.errors import CannotRestore, RunStopped


@dataclass(frozen=True, slots=True)
class FrameworkModelApi:
    """How one method of a framework's models is called, and what it returns.

    Messages are dictionaries as in Chat Completions, in requests and in edits, so that they have the same refs as
    through any client (`capture.frameworks.chat` helps).  "Raw" is an answer, or a chunk of one, as JSON values: what
    is recorded.  Any function may raise: the call is then recorded without what it would have said, or cannot be
    given back.
    """

    read_request: Callable[[MethodCall], ModelRequest]
    """`ModelRequest.name` should be the model's class: the call's name in the run."""
    with_messages: Callable[[MethodCall, list[Any]], MethodCall | None]
    """The call with other messages, as Chat Completions has them; None where that cannot be."""
    dump: Callable[[Any], Any]
    """The raw form of what the method returned, of a chunk for a method that streams."""
    load: Callable[[Any], Any]
    """The framework's own object again.  Raises CannotRestore."""
    read: Callable[[Any], ModelResponse | None]
    """Reads the raw answer; that of a stream after `join`."""
    from_message: Callable[[Mapping[str, Any], MethodCall], Any]
    """The raw answer that says this message of Chat Completions."""
    join: Callable[[list[Any]], Any] | None = None
    """One raw answer of the raw chunks of a stream; None: the method does not stream."""
    split: Callable[[Any], list[Any]] = lambda raw: [raw]
    """Raw chunks of a raw answer."""

    def read_recorded(self, raw: Any) -> ModelResponse | None:
        """Reads what was recorded of an answer."""
        if self.join is None:
            return self.read(raw)
        read = self.read(self.join(raw["stream"]))
        return None if read is None else replace(read, raw=raw)

    def restore(self, raw: Any, ending: BaseException | None) -> Any:
        """What the method returned: the answer, or an iterator of its chunks, with an error after them or none."""
        recorded = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
        if isinstance(recorded.get("$playhead"), str):  # a marker in the place of content that was not kept
            raise CannotRestore(f"the answer was not kept ({recorded['$playhead']}); fork the run before this call")
        if self.join is None and ending is not None and not isinstance(ending, RunStopped):
            raise ending
        try:
            if self.join is None:
                return self.load(raw)
            return _with_ending([self.load(chunk) for chunk in recorded["stream"]], ending)
        except Exception as error:
            raise CannotRestore(f"the recorded answer cannot be read ({type(error).__name__}: {error})") from error

    def with_message(self, message: Any, asked: MethodCall) -> Any:
        """What would be recorded of an answer that says this message: a text, or one of Chat Completions."""
        said: Mapping[str, Any] = {"content": message} if isinstance(message, str) else message
        raw = self.from_message({"role": "assistant", **said}, asked)
        return raw if self.join is None else {"stream": self.split(raw)}


def _with_ending(chunks: list[Any], ending: BaseException | None) -> Iterator[Any]:
    yield from chunks
    if ending is not None:
        raise ending
