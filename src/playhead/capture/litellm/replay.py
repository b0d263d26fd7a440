"""Rebuilds LiteLLM's answers and streams from their recorded form."""

from collections.abc import AsyncIterator, Iterator, Mapping
from functools import cache
from typing import Any, cast

from playhead.capture.client_methods import MethodCall
from playhead.capture.litellm.hidden_params import KEY, restore_hidden_params
from playhead.errors import CannotRestore


def restore(raw: Any, call: MethodCall, ending: BaseException | None) -> Any:
    """Rebuilds what the function returned from `raw`, or an awaitable of it.  Raises CannotRestore."""
    recorded = cast("dict[str, Any]", raw if isinstance(raw, dict) else {})
    if isinstance(recorded.get("$playhead"), str):  # a marker in the place of content that was not kept
        why = recorded["$playhead"]
        raise CannotRestore(f"the model's answer was not kept ({why}); fork the run before this call")
    try:
        restored = _stream(recorded, ending) if "stream" in recorded else _answer(recorded)
    except Exception as error:
        raise CannotRestore(f"litellm cannot read the recorded answer ({type(error).__name__}: {error})") from error
    return _as_awaitable(restored) if call.is_async else restored


def _answer(recorded: Mapping[str, Any]) -> Any:
    from litellm.types.utils import ModelResponse  # noqa: PLC0415 # pyright: ignore - the library is the user's

    kind = cast(Any, ModelResponse)
    return restore_hidden_params(kind(**{key: value for key, value in recorded.items() if key != KEY}), recorded)


def _stream(recorded: Mapping[str, Any], ending: BaseException | None) -> Any:
    from litellm.types.utils import ModelResponseStream  # noqa: PLC0415 # pyright: ignore - the library is the user's

    kind = cast(Any, ModelResponseStream)
    chunks = [restore_hidden_params(kind(**chunk), recorded) for chunk in recorded["stream"]]
    return _recorded_stream_class()(chunks, recorded.get(KEY) or {}, ending)


async def _as_awaitable(value: Any) -> Any:
    return value


@cache
def _recorded_stream_class() -> type:
    """Returns a subclass of the library's class of streams that yields recorded chunks."""
    from litellm import CustomStreamWrapper  # noqa: PLC0415 # pyright: ignore - the library is the user's

    class RecordedStream(cast(Any, CustomStreamWrapper)):
        """A stream without a provider, which the `__init__` of the library's class requires."""

        def __init__(self, chunks: list[Any], hidden: Mapping[str, Any], ending: BaseException | None):
            self._recorded = iter(chunks)
            self._ending = ending
            self._hidden_params = dict(hidden)
            self.model = getattr(chunks[0], "model", None) if chunks else None
            self.custom_llm_provider = hidden.get("custom_llm_provider")
            self.completion_stream = None
            self.messages = None
            self.chunks: list[Any] = []

        def __iter__(self) -> Iterator[Any]:
            return self

        def __aiter__(self) -> AsyncIterator[Any]:
            return self

        def __next__(self) -> Any:
            for chunk in self._recorded:
                self.chunks.append(chunk)
                return chunk
            ending, self._ending = self._ending, None
            raise StopIteration if ending is None else ending

        async def __anext__(self) -> Any:
            try:
                return self.__next__()
            except StopIteration:
                raise StopAsyncIteration from None

        async def aclose(self) -> None:
            """Does nothing: no connection is open."""

    return RecordedStream
