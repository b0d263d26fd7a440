"""Runs as people meet them, for the web UI's tests and pictures: most are scored, and some of them failed.

Each line is a run: its name, and what there is to see.

- `rail_desk`, four trials of one task: three failed, because the answer names another connection as the cheapest
- `rail_desk`, of another task: no rule finds anything, and nobody scored it
- `release_check`: agents at the same time; a tool of one raises a ConnectionError that came from a TimeoutError
- `tour_desk`: the program sums up the conversation, and the summary lacks what is needed later
- `photo_desk`: images, Markdown, and names with characters that change the direction of text
"""

import asyncio
import base64
import contextlib
import json
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, contains, delay, text, thinking, tool_call

MODEL = "gpt-4o"
Messages = list[dict[str, Any]]


def definition(name: str, description: str, **properties: str) -> Any:
    """A tool's definition; the properties are named with their types, all are required."""
    types = {key: {"type": kind} for key, kind in properties.items()}
    schema = {"type": "object", "properties": types, "required": list(types)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


# --- an agent that changes bookings -----------------------------------------------------------------------------------

RAIL_SYSTEM = """\
You change bookings of a railway. Look at the booking and at the connections before you offer one. Name the price, and
ask before you change a booking. Offer the cheapest connection if the traveller asks for it."""
RAIL_TOOLS = [
    definition("get_traveller", "A traveller, with the ids of the bookings.", traveller_id="string"),
    definition("get_booking", "A booking with its trains.", booking_id="string"),
    definition(
        "search_connections", "Connections with one change.", origin="string", destination="string", date="string"
    ),
    definition("calculate", "The value of an arithmetic expression.", expression="string"),
    definition(
        "change_booking", "Changes the trains of a booking.", booking_id="string", fare="string", trains="array"
    ),
]
TRAVELLER = {
    "traveller_id": "nora_lindt_4471",
    "name": "Nora Lindt",
    "bookings": ["K7QM2X", "R3TDW8"],
    "payment": {"voucher_8812": {"amount": 40}, "card_3307": {"ends_with": "4417"}},
}
BOOKING = {
    "booking_id": "K7QM2X",
    "traveller_id": "nora_lindt_4471",
    "fare": "first",
    "trains": [
        {"train": "RX210", "origin": "Graz", "destination": "Linz", "date": "2026-05-23", "price": 96},
        {"train": "RX348", "origin": "Linz", "destination": "Brno", "date": "2026-05-23", "price": 81},
    ],
}


def train(name: str, origin: str, destination: str, departs: str, arrives: str, standard: int) -> dict[str, Any]:
    return {
        "train": name,
        "origin": origin,
        "destination": destination,
        "departs": departs,
        "arrives": arrives,
        "seats": {"standard": 9, "first": 4},
        "prices": {"standard": standard, "first": 2 * standard + 11},
        "date": "2026-05-24",
    }


CONNECTIONS = [
    [
        train("RX110", "Graz", "Linz", "08:04", "10:51", 35),
        train("RX132", "Linz", "Brno", "11:30", "14:02", 63),
    ],
    [
        train("RX110", "Graz", "Linz", "08:04", "10:51", 35),
        train("RX172", "Linz", "Brno", "19:12", "21:40", 34),
    ],
    [
        train("RX227", "Graz", "Linz", "12:04", "14:51", 41),
        train("RX339", "Linz", "Brno", "15:30", "18:02", 46),
    ],
    [
        train("RX118", "Graz", "Linz", "06:04", "08:51", 55),
        train("RX304", "Linz", "Brno", "09:30", "12:02", 58),
    ],
]


@observe(kind="tool")
def get_traveller(traveller_id: str) -> dict[str, Any]:
    return TRAVELLER


@observe(kind="tool")
def get_booking(booking_id: str) -> dict[str, Any]:
    return BOOKING


@observe(kind="tool")
def search_connections(origin: str, destination: str, date: str) -> list[list[dict[str, Any]]]:
    return CONNECTIONS


@observe(kind="tool")
def calculate(expression: str) -> str:
    return str(float(sum(int(number) for number in expression.split("+"))))


@observe(kind="tool")
def change_booking(booking_id: str, fare: str, trains: list[dict[str, str]]) -> dict[str, Any]:
    return {"booking_id": booking_id, "fare": fare, "trains": trains, "changed": True}


RAIL: dict[str, Callable[..., Any]] = {
    "get_traveller": get_traveller,
    "get_booking": get_booking,
    "search_connections": search_connections,
    "calculate": calculate,
    "change_booking": change_booking,
}


@observe(kind="agent", name="rail_desk")
def rail_desk(client: openai.OpenAI, user: Iterator[str]) -> str:
    """Answers what the user says until the user says nothing more.  Returns the last answer."""
    messages: Messages = [{"role": "system", "content": RAIL_SYSTEM}]
    said = ""
    for question in user:
        messages.append({"role": "user", "content": question})
        while True:
            asked: Any = messages
            answer = client.chat.completions.create(model=MODEL, messages=asked, tools=RAIL_TOOLS).choices[0].message
            messages.append(answer.model_dump(exclude_none=True, exclude={"reasoning_content"}))
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                function: Any = getattr(call, "function", None)
                result = RAIL[function.name](**json.loads(function.arguments))
                content = result if isinstance(result, str) else json.dumps(result)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
        said = answer.content or ""
    return said


ASKS = (
    "Hello! I need to change my train tickets.",
    "My id is nora_lindt_4471. I do not have the number of the booking at hand.",
    "K7QM2X, please.",
    "I want to travel a day later, and with the cheapest standard connection there is.",
    "Yes, please change it. Leave the payment as it is.",
)
GREETINGS = (
    "I can help you with that. What is your traveller id, and which booking is it?",
    "Gladly. Please tell me your traveller id and the number of the booking.",
    "Sure. Could you give me your traveller id and the booking number?",
    "Of course. I need your traveller id and the number of your booking.",
)
FOUND = (
    "I found two bookings: K7QM2X and R3TDW8. Which one do you want to change?",
    'There are two bookings under your id, "K7QM2X" and "R3TDW8". Which one is it?',
    "You have the bookings K7QM2X and R3TDW8. Which of them shall I change?",
    "I see K7QM2X and R3TDW8. Which booking do you mean?",
)
DETAILS = """\
Here is your booking **K7QM2X**:

| train | from | to | date | price |
|---|---|---|---|---|
| RX210 | Graz | Linz | 2026-05-23 | €96 |
| RX348 | Linz | Brno | 2026-05-23 | €81 |

What shall I change?"""
WRONG = """\
The cheapest standard connection on 2026-05-24 is:

- **RX110** from Graz to Linz
  - Departure: 08:04
  - Price: €35
- **RX132** from Linz to Brno
  - Departure: 11:30
  - Price: €63

The total is €98. Shall I change your booking to these trains?"""
RIGHT = """\
The cheapest standard connection on 2026-05-24 has one change in Linz:

1. **RX110** from Graz to Linz, departure 08:04, €35
2. **RX172** from Linz to Brno, departure 19:12, €34

The total is €69. Your first class tickets cost €177; the difference is refunded. Shall I change the booking?"""
DONE = "Your booking K7QM2X is changed to {trains} on 2026-05-24 in standard. Have a good journey!"


def rail_answers(trial: int) -> Iterator[Any]:
    """What the model answers in a trial; only the first one computes the sum, and offers the cheapest."""
    last = "RX172" if trial == 0 else "RX132"
    trains = [{"train": name, "date": "2026-05-24"} for name in ("RX110", last)]
    yield text(GREETINGS[trial])
    yield tool_call("get_traveller", {"traveller_id": "nora_lindt_4471"}) + text(
        "One moment, I look up your bookings." if trial else "I look them up."
    )
    yield text(FOUND[trial])
    yield tool_call("get_booking", {"booking_id": "K7QM2X"})
    yield text(DETAILS if trial % 2 else DETAILS.replace("Here is your booking", "This is the booking"))
    yield thinking("The traveller wants the cheapest standard connection one day later.") + tool_call(
        "search_connections", {"origin": "Graz", "destination": "Brno", "date": "2026-05-24"}
    )
    if trial == 0:
        yield thinking("I add the prices of both trains.") + tool_call("calculate", {"expression": "35 + 34"})
    yield text(WRONG if trial else RIGHT)
    yield tool_call("change_booking", {"booking_id": "K7QM2X", "fare": "standard", "trains": trains})
    yield text(DONE.format(trains=f"RX110 and {last}"))


def play(asks: Sequence[str], answers: Iterator[Any], score: float | None, *tags: str) -> None:
    with (
        MockModelServer() as server,
        openai.OpenAI(base_url=server.base_url, api_key="none") as client,
        playhead.run("rail_desk", tags=list(tags), user="nora"),
    ):
        server.otherwise(lambda _: delay(0.02, next(answers)))
        rail_desk(client, iter(asks))
        if score is not None:
            playhead.score("reward", score, comment="the booking as it should be" if score else "wrong trains booked")


def greeted() -> Iterator[Any]:
    yield text("Good morning! Our desk in Graz is open from 6:30 to 21:00, on Sundays from 8:00.")


# --- agents at the same time, one of which fails ----------------------------------------------------------------------

METRICS_TOOL = definition("read_metrics", "Errors of a service per hour.", service="string", hours="integer")
LICENCES_TOOL = definition("list_licences", "Licences of all packages.", lockfile="string")
TESTS_TOOL = definition("run_suite", "Runs a suite of tests.", suite="string")


class MetricsStore:
    """A store that does not answer in time."""

    def query(self, service: str, hours: int) -> list[int]:
        try:
            return self.fetch(f"errors{{service={service!r}}}[{hours}h]")
        except TimeoutError as error:
            raise ConnectionError("the metrics store at metrics.internal:9090 does not answer") from error

    def fetch(self, expression: str) -> list[int]:
        raise TimeoutError(f"no answer within 2 s to {expression}")


@observe(kind="tool")
def read_metrics(service: str, hours: int) -> list[int]:
    return MetricsStore().query(service, hours)


@observe(kind="tool")
def list_licences(lockfile: str) -> dict[str, int]:
    return {"MIT": 41, "Apache-2.0": 17, "BSD-3-Clause": 9, "GPL-3.0-only": 1}


@observe(kind="tool")
def run_suite(suite: str) -> str:
    return "412 passed, 3 skipped in 96 s"


CHECKS: dict[str, tuple[str, Any, Callable[..., Any]]] = {
    "tests": ("You say whether the tests allow a release.", TESTS_TOOL, run_suite),
    "licences": ("You say whether the licences allow a release.", LICENCES_TOOL, list_licences),
    "metrics": ("You say whether the service was healthy in the last 24 hours.", METRICS_TOOL, read_metrics),
}


# The checkers that have ended. The one that fails does so after the others, however long they take.
HAVE_ANSWERED = threading.Semaphore(0)
LONGEST_S = 120


@observe(kind="agent", name="checker")
async def checker(client: openai.AsyncOpenAI, subject: str) -> str:
    system, tool, function = CHECKS[subject]
    messages: Any = [
        {"role": "system", "content": system},
        {"role": "user", "content": f"May orders-api 4.2.0 be released, as far as {subject} go?"},
    ]
    answer = (await client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=[tool])).choices[0]
    asked: Any = answer.message.tool_calls
    result = function(**json.loads(asked[0].function.arguments))
    messages.append(answer.message.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": asked[0].id, "content": json.dumps(result)})
    last = await client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=[tool])
    HAVE_ANSWERED.release()
    return last.choices[0].message.content or ""


@observe(kind="agent", name="release_check")
async def release_check(client: openai.AsyncOpenAI) -> str:
    return "\n".join(await asyncio.gather(*(checker(client, subject) for subject in CHECKS)))


def crash(server: MockModelServer) -> None:
    server.when(contains("412 passed", last=True), text("The tests allow it: 412 passed, none failed."))
    licences = text("One package, `tabulate-gpl`, is under GPL-3.0-only: ask the owner before the release.")
    server.when(contains("GPL-3.0-only", last=True), licences)
    server.when(contains("as far as tests"), delay(0.1, tool_call("run_suite", {"suite": "orders-api"})))
    lock = tool_call("list_licences", {"lockfile": "orders-api/requirements.lock"})
    server.when(contains("as far as licences"), delay(0.15, lock))

    def metrics(_: object) -> Any:
        for _other in range(len(CHECKS) - 1):
            HAVE_ANSWERED.acquire(timeout=LONGEST_S)
        return delay(0.4, tool_call("read_metrics", {"service": "orders-api", "hours": 24}))

    server.when(contains("as far as metrics"), metrics)

    async def checked() -> None:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            with playhead.run("release_check", tags=["service:orders-api"]):
                await release_check(client)

    with contextlib.suppress(ConnectionError):
        asyncio.run(checked())


# --- a conversation that is summed up ---------------------------------------------------------------------------------

TOUR_SYSTEM = "You plan guided tours. Keep to what the guests need, and reserve only what they have agreed to."
TOUR = (
    ("user", "Hello, we are Nora and Tom Lindt, and we want to see the salt mine on 14 June."),
    ("assistant", "Lovely. There are tours at 9:30 and at 13:00. Which one suits you, and is there anything to mind?"),
    ("user", "The one at 13:00. Tom sits in a wheelchair, and our voucher is SALT-7741-QX. Please no steep stairs."),
    ("assistant", "Noted: 13:00, step-free, with your voucher. Shall I look for a hotel, too?"),
    ("user", "Yes, for one night, at most €140, with breakfast."),
    ("assistant", "Hotel Seeblick has a room for €128 with breakfast; Gasthof Adler one for €112 without."),
    ("user", "Seeblick, please."),
)
TOUR_SUMMARY = (
    "Summary so far: Nora and Tom Lindt want to see the salt mine on 14 June at 13:00, and want one night at Hotel "
    "Seeblick for €128 with breakfast."
)
SUM_UP = "Sum up the conversation in two sentences, so that it can go on from there."
RESERVE = "Good. Please reserve the tour now, with our voucher."
TOUR_TOOL = definition(
    "reserve_tour", "Reserves a tour.", tour="string", time="string", guests="integer", voucher="string"
)


@observe(kind="tool")
def reserve_tour(tour: str, time: str, guests: int, voucher: str) -> str:
    return f"Error: there is no voucher {voucher}"


@observe(kind="agent", name="tour_desk")
def tour_desk(client: openai.OpenAI) -> str:
    def ask(messages: Messages) -> Any:
        asked: Any = messages
        return client.chat.completions.create(model=MODEL, messages=asked, tools=[TOUR_TOOL]).choices[0].message

    system = {"role": "system", "content": TOUR_SYSTEM}
    messages: Messages = [system]
    for role, said in TOUR:
        messages.append({"role": role, "content": said})
        if role == "user" and said != TOUR[-1][1]:
            ask(messages)
    messages.append({"role": "assistant", "content": ask(messages).content})
    summary = ask([system, *messages[1:], {"role": "user", "content": SUM_UP}]).content
    short: Messages = [system, {"role": "user", "content": summary}, messages[-1]]
    playhead.compressed(before=messages, after=short, summary=summary, strategy="summary")
    short.append({"role": "user", "content": RESERVE})
    answer = ask(short)
    short.append(answer.model_dump(exclude_none=True))
    for call in answer.tool_calls:
        result = reserve_tour(**json.loads(call.function.arguments))
        short.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return ask(short).content or ""


def forget(server: MockModelServer) -> None:
    server.when(
        contains("no voucher", last=True), text("That voucher does not exist. Could you send me its code again?")
    )
    invented = {"tour": "salt mine", "time": "13:00", "guests": 2, "voucher": "SALT-2026"}
    server.when(contains(RESERVE, last=True), tool_call("reserve_tour", invented))
    server.when(contains(SUM_UP, last=True), text(TOUR_SUMMARY))
    said = {question: reply for (_, question), (_, reply) in zip(TOUR[::2], TOUR[1::2], strict=False)}
    for question, reply in said.items():
        server.when(contains(question, last=True), text(reply))
    server.otherwise(text("Hotel Seeblick is noted. Shall I reserve the tour and the room?"))
    with (
        openai.OpenAI(base_url=server.base_url, api_key="none") as client,
        playhead.run("tour_desk", tags=["task:tour"], user="nora"),
    ):
        tour_desk(client)
        playhead.score("reward", 0.0, comment="the tour is not reserved")


# --- images, Markdown, and names that turn the text around ------------------------------------------------------------

RIGHT_TO_LEFT = "\u202e"
PHOTO_NAME = f"invoice{RIGHT_TO_LEFT}gpj.exe"
PHOTO_ANSWER = """\
## What the photo shows

The sign says **closed on Mondays**. In short:

| day | open |
|---|---|
| Monday | closed |
| Tuesday to Sunday | 9:00 to 17:00 |

- [ ] call before you come
- [x] the address is right

Details are in `opening_hours()`:

```python
def opening_hours(day: str) -> str:
    return "closed" if day == "Monday" else "9:00 to 17:00"
```

![map](https://maps.example.com/mine.png) and <b>no HTML</b>, see [the site](https://mine.example.com)."""


def png(width: int, height: int, red: int, green: int, blue: int) -> str:
    """A PNG of one colour, in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes((red, green, blue)) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()


@observe(kind="tool")
def save_photo(name: str, album: str) -> dict[str, str]:
    return {"name": name, "album": album, "note": f"saved {RIGHT_TO_LEFT}as it was named"}


@observe(kind="agent", name=f"photo{RIGHT_TO_LEFT}desk")
def photo_desk(client: openai.OpenAI) -> str:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(320, 180, 26, 95, 184)}"}}
    asked: Any = [
        {"role": "system", "content": "You describe photos of guests."},
        {"role": "user", "content": [{"type": "text", "text": "When is it open? This is the sign."}, image]},
    ]
    answer = client.chat.completions.create(model=MODEL, messages=asked)
    save_photo(PHOTO_NAME, "salt mine")
    return answer.choices[0].message.content or ""


def describe(server: MockModelServer) -> None:
    server.otherwise(text(PHOTO_ANSWER))
    with openai.OpenAI(base_url=server.base_url, api_key="none") as client, playhead.run("photo_desk", user="tom"):
        photo_desk(client)
        playhead.score("reward", 1.0)


def record_all() -> None:
    playhead.instrument()
    for part in (describe, forget, crash):
        with MockModelServer() as server:
            part(server)
    play(["When is your desk in Graz open?"], greeted(), None, "task:hours")
    for trial in range(len(GREETINGS)):
        play(ASKS, rail_answers(trial), float(trial == 0), "task:3", f"trial:{trial}")
    playhead.flush()


if __name__ == "__main__":
    record_all()
