"""The ways in which `trip.py` is changed between its death and its second life: edits of its text.  Pure."""

from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).with_name("trip.py")
_WORKFLOW, _END = "async def trip() -> list[Any]:\n", "\n\nif __name__"

Edit = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """`body` edits the workflow, `steps` what stands before it.  `beside` is a step that a careful author, who wants
    old runs to end with old code, adds instead of making the edits in `steps`."""

    name: str
    body: tuple[Edit, ...] = ()
    steps: tuple[Edit, ...] = ()
    beside: str = ""
    whole: tuple[Edit, ...] = ()
    """Edits of what is neither: nobody guards which function is the entry point."""
    first: tuple[Edit, ...] = ()
    """Edits of the program that is killed: what the change takes away."""
    module: str = ""
    """What stands in a second module from then on."""


_SEARCHES = 'found = [await search("a"), await search("b")]'
_IF_MAIN, _MAIN, _NEW_MAIN = 'if __name__ == "__main__"', "engine.main(trip)", "engine.main(journey)"
_BOOKING = '@workflow\nasync def booking() -> Any:\n    return await book("LX1")\n\n\n'
_RESERVING = _BOOKING.replace("booking", "reserving")
_WRAPPER = "\n\n\n@workflow\nasync def journey() -> list[Any]:\n    return await trip()"
_BOOK = '@tool\nasync def book(flight: str) -> Any:\n    return did(f"booked {flight}")\n\n\n'
_BOOKS = 'booked = await book("LX1")'

_FIRST_LINES = "model, tool, workflow = engine.model, engine.tool, engine.workflow\n"
_MOVED = f"{_FIRST_LINES}from bookings import book\n"
# Executed by nobody but a program that has this change: imports what it needs anew.
_MODULE = (
    "import os\nfrom importlib import import_module\nfrom pathlib import Path\nfrom typing import Any\n\n"
    'tool = import_module(os.environ["ENGINE"]).tool\n\n\n'
    'def did(what: str) -> str:\n    with Path(os.environ["EFFECTS"]).open("a") as file:\n'
    '        file.write(what + "\\n")\n    return what\n\n\n' + _BOOK
)

CHANGES = (
    Change("none"),
    Change("a prompt", body=(("Where to?", "Where to, and when?"),)),
    Change("the model", body=(("model-1", "model-2"),)),
    Change("an argument of a tool", body=(('book("LX1")', 'book("LX2")'),)),
    Change("a step inserted", body=((_BOOKS, 'await mail("alice")\n    ' + _BOOKS),)),
    Change("a step removed", body=((_SEARCHES, 'found = [await search("a")]'),)),
    Change(
        "steps that follow each other, in another order",
        body=((f"{_SEARCHES}\n    {_BOOKS}", f"{_BOOKS}\n    {_SEARCHES}"),),
    ),
    Change(
        "two calls of one function, in another order",
        body=((_SEARCHES, 'found = [await search("b"), await search("a")]'),),
    ),
    Change("parallel calls in another order", body=(("fetch(1), fetch(2), fetch(3)", "fetch(3), fetch(1), fetch(2)"),)),
    Change(
        "a function renamed",
        body=(("await book(", "await reserve("),),
        steps=(("async def book(", "async def reserve("),),
        beside='@tool\nasync def reserve(flight: str) -> Any:\n    return did(f"booked {flight}")\n\n\n',
    ),
    Change(
        "parallel calls in another order, and one added",
        body=(("fetch(1), fetch(2), fetch(3)", "fetch(3), fetch(4), fetch(1), fetch(2)"),),
    ),
    Change("the entry point renamed", whole=(("async def trip() ->", "async def journey() ->"), (_MAIN, _NEW_MAIN))),
    Change("the entry point wrapped", whole=((f"\n\n{_IF_MAIN}", f"{_WRAPPER}\n\n{_IF_MAIN}"), (_MAIN, _NEW_MAIN))),
    Change(
        "a function around steps inserted",
        steps=(("@workflow\n", f"{_BOOKING}@workflow\n"),),
        body=((_BOOKS, "booked = await booking()"),),
        beside=_BOOKING,
    ),
    Change(
        "a function around steps removed",
        first=(("@workflow\n", f"{_BOOKING}@workflow\n"), (_BOOKS, "booked = await booking()")),
    ),
    Change(
        "a function around steps renamed",
        first=(("@workflow\n", f"{_BOOKING}@workflow\n"), (_BOOKS, "booked = await booking()")),
        steps=(("@workflow\n", f"{_RESERVING}@workflow\n"),),
        body=((_BOOKS, "booked = await reserving()"),),
        beside=_RESERVING,
    ),
    Change("a step moved to another module", whole=((_BOOK, ""), (_FIRST_LINES, _MOVED)), module=_MODULE),
    Change(
        "another return type", steps=(('return did(f"booked {flight}")', 'return {"did": did(f"booked {flight}")}'),)
    ),
)


def original(change: Change | None = None) -> str:
    """The program as it was when it was killed, before this change."""
    program = PROGRAM.read_text(encoding="utf-8")
    return _edited(program, change.first) if change else program


def changed(change: Change) -> str:
    """The program as somebody deploys it."""
    steps, body, end = _parts(original())
    return _edited(_edited(steps, change.steps) + _WORKFLOW + _edited(body, change.body) + end, change.whole)


def guarded(change: Change) -> str:
    """The program as somebody deploys it who guards the change as the engines' authors advise: runs that are under
    way take the old code.  What a step does cannot be guarded this way, only which steps there are."""
    steps, body, end = _parts(original(change))
    new = _edited(_parts(original())[1], change.body)
    if new == body:
        return changed(change)
    new = "".join(f"    {line}\n" for line in new.rstrip("\n").splitlines())
    before, mark, after = steps.rpartition("@workflow\n")
    return f"{before}{change.beside}{mark}{after}{_WORKFLOW}    if await engine.patch():\n{new}{body}{end}"


def _parts(program: str) -> tuple[str, str, str]:
    steps, _, rest = program.partition(_WORKFLOW)
    body, _, end = rest.partition(_END)
    return steps, body, _END + end


def _edited(text: str, edits: tuple[Edit, ...]) -> str:
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{PROGRAM.name} has {old!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text
