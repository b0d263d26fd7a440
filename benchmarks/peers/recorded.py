"""What a case may ask of a tool: decorate functions, and say which calls were recorded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(slots=True)
class RecordedCall:
    """One call as a tool recorded it. Times are in ns since 1970; `input` is all text recorded of the arguments."""

    name: str
    id: str
    parent: str | None
    started_ns: int
    ended_ns: int | None
    failed: bool = False
    cancelled: bool = False
    input: str = ""


class RecordingTool(Protocol):
    """One decorator under test."""

    version: str

    def decorate(self, function: Any) -> Any:
        """Returns the function as the tool's documentation says to decorate it."""
        ...

    def calls(self) -> list[RecordedCall]:
        """Calls since `reset`, in the order in which they started; those without an end included."""
        ...

    def reset(self) -> None:
        """Forgets the calls so far."""
        ...

    def count_only(self) -> Callable[[], int]:
        """From now on calls are counted where they would leave the process, and not kept. Returns a function that waits
        until all are out, and gives their number."""
        ...


class Wrong(Exception):
    """What a case found, as half a sentence."""


def expect(right: object, otherwise: str) -> None:
    """Raises Wrong unless the first argument is true."""
    if not right:
        raise Wrong(otherwise)


class SeenCalls:
    """The calls that a tool recorded of one case."""

    def __init__(self, tool: RecordingTool):
        self.calls = tool.calls()

    def all(self, name: str) -> list[RecordedCall]:
        """Calls of this function; each has ended, or the case is wrong."""
        found = [call for call in self.calls if call.name == name]
        expect(all(call.ended_ns for call in found), f"a call of {name}() never ends in the record")
        return found

    def one(self, name: str) -> RecordedCall:
        """The only call of this function."""
        found = self.all(name)
        expect(found, f"no call of {name}() is recorded")
        expect(len(found) == 1, f"{len(found)} calls of {name}() are recorded instead of one")
        return found[0]

    def expect_inside(self, inner: RecordedCall, outer: RecordedCall) -> None:
        """The first call was made in the second one."""
        parent = next((call.name for call in self.calls if call.id == inner.parent), None)
        where = f"{inner.name}() is recorded {f'inside {parent}()' if parent else 'outside of all'}"
        expect(inner.parent == outer.id, f"{where} instead of inside {outer.name}()")
