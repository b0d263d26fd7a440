"""Describes a framework's model classes to the wrappers that record them."""

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
    through any client (`capture.frameworks.chat` helps).  "Raw" is the recorded form: an answer, or a chunk of one,
    as JSON values.  Any function may raise: the call is then recorded without what the function would have returned, or
    cannot be restored.
    """

    read_request: Callable[[MethodCall], ModelRequest]
    """`ModelRequest.name` should be the model's class: the call's name in the run."""
    with_messages: Callable[[MethodCall, list[Any]], MethodCall | None]
    """Returns the call with other messages (as in Chat Completions); None if the call cannot be edited."""
    dump: Callable[[Any], Any]
    """Returns the raw form of the method's result; for a method that streams, of one chunk."""
    load: Callable[[Any], Any]
    """Reverses `dump`: makes the framework's own object.  Raises CannotRestore."""
    read: Callable[[Any], ModelResponse | None]
    """Reads the raw answer; for a stream, the one that `join` returns."""
    from_message: Callable[[Mapping[str, Any], MethodCall], Any]
    """Makes a raw answer from a message in the form of Chat Completions."""
    join: Callable[[list[Any]], Any] | None = None
    """Joins the raw chunks of a stream to one raw answer; None: the method does not stream."""
    split: Callable[[Any], list[Any]] = lambda raw: [raw]
    """Splits a raw answer into raw chunks."""

    def read_recorded(self, raw: Any) -> ModelResponse | None:
        """Reads a recorded answer; None if it is not an answer."""
        if self.join is None:
            return self.read(raw)
        read = self.read(self.join(raw["stream"]))
        return None if read is None else replace(read, raw=raw)

    def restore(self, raw: Any, ending: BaseException | None) -> Any:
        """Rebuilds the method's result: the answer, or an iterator of its chunks that raises `ending` at its end.  If
        the method does not stream, raises `ending` itself, unless it is RunStopped.  Raises CannotRestore."""
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

    def with_message(self, message: Any, call: MethodCall) -> Any:
        """Makes the recorded form of an answer with this message (a text, or a message as in Chat Completions)."""
        fields: Mapping[str, Any] = {"content": message} if isinstance(message, str) else message
        raw = self.from_message({"role": "assistant", **fields}, call)
        return raw if self.join is None else {"stream": self.split(raw)}


def _with_ending(chunks: list[Any], ending: BaseException | None) -> Iterator[Any]:
    yield from chunks
    if ending is not None:
        raise ending
