"""Records values that a run reads besides its calls, if the run asks for it: the clock, random numbers, UUIDs.

Values that a run's own code reads are recorded, and a resumed or forked run gets the same ones. They are looked up by
kind and path of the reading call, in order, so that parallel branches cannot mix them up. Calls that are answered as a
whole (models, tools) read real values, and so do libraries: they read the clock for each log line, and draw numbers
that must not repeat, such as span ids.

While a run that asks for it is under way, these are patched: `time.time`, `time.time_ns` (and through them
`date.today` and `datetime.today`), `uuid.uuid1`, `uuid.uuid4` and the functions of `random`. They are put back when the
last such run ends. A function that was
bound before (`from time import time`) is not, nor are `datetime.now` and `datetime.utcnow`, which belong to an
immutable type; use `now` instead. Secrets (`secrets`, `os.urandom`, `random.SystemRandom`) are never recorded, nor
is `time.monotonic`.
"""

import functools
import random
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from inspect import currentframe
from types import FrameType
from typing import Any, TypeVar, cast

from opentelemetry import context as otel

from playhead.calls.begin import CURRENT
from playhead.calls.own_code import is_own_code
from playhead.calls.run import ActiveRun
from playhead.calls.span import ObservedSpan
from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import guarded, warn_once
from playhead.model import names

T = TypeVar("T", bound=str | int | float)
_NO_VALUE: Any = object()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCKS = ("time", "time_ns")
_UUIDS = ("uuid1", "uuid4", "uuid6", "uuid7")  # those that this Python has
_SEED_BITS = 64


class RecordedValues:
    """Values (clock, random, UUID) that one run records, and the recorded ones that it has to replay. Safe for
    threads."""

    def __init__(self, kinds: Iterable[str] = (), recorded: Iterable[tuple[str, Any]] = ()):
        """Replays recorded values. `recorded`: (call path, value) pairs in the order they were read."""
        self.kinds = frozenset(kinds)
        self.generators: weakref.WeakKeyDictionary[ObservedSpan, random.Random] = weakref.WeakKeyDictionary()
        self._recorded: dict[str, deque[Any]] = {}
        for key, value in recorded:
            self._recorded.setdefault(key, deque()).append(value)

    def next_value(self, key: str) -> Any:
        """Returns the next recorded value for the key; `_NO_VALUE` if there is none."""
        try:
            return self._recorded[key].popleft()
        except (KeyError, IndexError):
            return _NO_VALUE

    def run_ended(self) -> None:
        """Puts the patched functions back, unless another run records."""
        _release(weakref.ref(self))


def kinds_of(kinds: Any) -> frozenset[str]:
    """Parses `record=`: `"clock,uuid"` or a list of kinds. Unknown kinds are logged once and ignored."""
    kind_names: frozenset[str] = frozenset()
    with guarded("read what a run records"):
        words: Iterable[Any] = kinds.split(",") if isinstance(kinds, str) else (kinds or ())
        kind_names = frozenset(str(word).strip() for word in words) - {""}
    if unknown := sorted(kind_names.difference(names.VALUE_KINDS)):
        warn_once(
            f"record {unknown[0]}", f"record={unknown[0]!r} is not known: it may be {', '.join(names.VALUE_KINDS)}"
        )
    return kind_names.intersection(names.VALUE_KINDS)


def record_values(span: ObservedSpan, kinds: frozenset[str]) -> None:
    """Makes the run that begins with this call record these kinds. For a call inside a run it does nothing."""
    if not kinds or names.RUN_ROOT not in span.attributes:
        return
    set_recorded_values(span.run, kinds)
    values = cast(RecordedValues, span.run.values)
    span.attributes[names.RECORDED_VALUES] = ",".join(sorted(values.kinds))


def set_recorded_values(run: ActiveRun, kinds: frozenset[str], recorded: Iterable[tuple[str, Any]] = ()) -> None:
    """Sets which kinds the run records and which recorded values it replays."""
    if run.values is None:
        run.values = RecordedValues(kinds, recorded)
    else:
        run.values.kinds |= kinds
    if kinds:
        _patch_for(cast(RecordedValues, run.values))


def recording_in_every_run(kinds: frozenset[str]) -> Callable[[ObservedSpan], None] | None:
    """Returns the function to call at the start of each run so that it records these kinds; None for no kinds."""
    return functools.partial(record_values, kinds=kinds) if kinds else None


def now() -> datetime:
    """Returns the current time in UTC. Inside a run it is recorded, and replayed when the run is resumed."""
    span = otel.get_current().get(CURRENT)
    if isinstance(span, ObservedSpan) and _may_read(span):
        if span.run.values is None:
            span.run.values = RecordedValues()
        ns = int(_recorded_or_real(span, "now", _real_time_ns))
    else:
        ns = _real_time_ns()
    return _EPOCH + timedelta(microseconds=ns // 1_000)


def recorded_value(of: str, read: Callable[[], T]) -> T:
    """Returns what the function returns: a text or a number. Inside a run it is recorded, and replayed when the run is
    resumed, for the same `of` in the same call path. What the function raises is raised, and not recorded."""
    span = otel.get_current().get(CURRENT)
    if not isinstance(span, ObservedSpan) or not _may_read(span):
        return read()
    if span.run.values is None:
        span.run.values = RecordedValues()
    return _recorded_or_real(span, of, read)


def _may_read(span: ObservedSpan) -> bool:
    if not (span.run.recorded and span.run.is_owner_process):
        return False
    call: ObservedSpan | None = span
    while call is not None:
        if call.can_be_answered_from_record:
            return False  # a record answers this call as a whole; if it is executed, its record has no such values
        call = call.enclosing
    return True


def _recording_call(kind: str, patch: FrameType | None) -> ObservedSpan | None:
    """Returns the innermost observed call that records values (`record=`), or None. `patch`: the frame of the patched
    function, which the program's own code must have called."""
    span = otel.get_current().get(CURRENT)
    if not isinstance(span, ObservedSpan):
        return None
    values = span.run.values
    caller = patch.f_back if patch is not None else None
    if values is None or kind not in values.kinds or caller is None or not is_own_code(caller.f_code.co_filename):
        return None
    return span if _may_read(span) else None


def _recorded_or_real(span: ObservedSpan, name: str, real: Callable[[], Any]) -> Any:
    """Returns the next recorded value of the read `name` (e.g. `time`, `uuid4`, `seed`). If there is none, reads the
    real value and journals it before returning."""
    input_ref = span.attributes.get(names.TOOL_ARGUMENTS_REF) or span.attributes.get(names.INPUT_REF) or ""
    path = str(span.attributes.get(names.CALL_KEY, "")).rpartition("#")[0]
    key = f"{name} {path} {input_ref[7:23]}"
    value = cast(RecordedValues, span.run.values).next_value(key)
    if value is not _NO_VALUE:
        return value
    value = real()
    if span.run.is_taken_over():
        return value
    with guarded("record %s", name):
        to = span.recorder
        frames = to.frames()
        frames.new = {}
        attributes: dict[str, Any] = {
            names.RUN_ID: span.run.id,
            names.CALL_ORDER: span.run.next_start(),
            names.VALUE_OF: key,
        }
        if span.run.attempt:
            attributes[names.RUN_ATTEMPT] = span.run.attempt
        fields = (_real_time_ns(), f"{span.trace_id:032x}", f"{span.span_id:016x}", {**attributes, names.VALUE: value})
        to.log(names.VALUE_READ, fields, frames)
    return value


# --- the patches ------------------------------------------------------------------------------------------------------

_real_time_ns = time.time_ns
_patched: list[tuple[Any, str, Any, Any]] = []
_recording: set[weakref.ref[RecordedValues]] = set()
"""The values of runs that record and have not ended. A run that is dropped without an end counts as ended."""
_mutex = ForkSafeLock()


def _patch_for(values: RecordedValues) -> None:
    with _mutex:
        _recording.add(weakref.ref(values, _release))
        # Asked last: the garbage collector may release a dropped run in this thread, up to here.
        if not _patched:
            _patch()


def _release(recording: weakref.ref[RecordedValues]) -> None:
    with _mutex:
        _recording.discard(recording)
        if not _recording:
            _put_back()


def _patch() -> None:
    for name in _CLOCKS:
        _replace(time, name, _wrap_read("clock", name, getattr(time, name)))
    for name in _UUIDS:
        if hasattr(uuid, name):
            _replace(uuid, name, _wrap_read("uuid", name, getattr(uuid, name), str, uuid.UUID))
    shared = getattr(random.random, "__self__", None)
    if not isinstance(shared, random.Random):
        return  # somebody else has patched it
    for name in dir(random):
        real = getattr(random, name)
        if getattr(real, "__self__", None) is shared:
            _replace(random, name, _wrap_random(name, real, shared))


def _put_back() -> None:
    for owner, name, real, ours in _patched:
        if getattr(owner, name) is ours:  # else it stays below somebody else's patch, and calls the real function
            setattr(owner, name, real)
    _patched.clear()


def _replace(owner: object, name: str, ours: object) -> None:
    _patched.append((owner, name, getattr(owner, name), ours))
    setattr(owner, name, ours)


def _same(value: object) -> Any:
    return value


def _wrap_read(
    kind: str,
    name: str,
    real: Callable[..., Any],
    to_json: Callable[[Any], Any] = _same,
    recorded: Callable[[Any], Any] = _same,
) -> Callable[..., Any]:
    @functools.wraps(real)
    def read(*args: object, **kwargs: object) -> Any:
        span = _recording_call(kind, currentframe())
        if span is None:
            return real(*args, **kwargs)
        return recorded(_recorded_or_real(span, name, lambda: to_json(real(*args, **kwargs))))

    return read


def _wrap_random(name: str, real: Callable[..., Any], shared: random.Random) -> Callable[..., Any]:
    """Wraps a function of `random`: each call gets its own generator, whose one recorded seed determines everything
    it draws. `shared`: the generator behind the functions of `random`, which the program may have seeded."""

    @functools.wraps(real)
    def draw(*args: object, **kwargs: object) -> Any:
        span = _recording_call("random", currentframe())
        if span is None:
            return real(*args, **kwargs)
        generators = cast(RecordedValues, span.run.values).generators
        generator = generators.get(span)
        if generator is None:
            seed = _recorded_or_real(span, "seed", lambda: f"{random.Random.getrandbits(shared, _SEED_BITS):x}")
            generator = generators.setdefault(span, random.Random(int(seed, 16)))  # noqa: S311 - as `random` is
        return getattr(generator, name)(*args, **kwargs)

    return draw
