"""The promises of this process: in the journal's folder, or with the collector once that has them.

Each promise can be answered in one place only. It is first opened in the journal's folder, so that it is durable. Then
it is given to the collector, if one responds; from then on only the collector can answer it. Requests that the program
need not wait for are sent in a thread. `promises_of` makes the store on first use.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from playhead.errors import ClientError, CollectorUnreachable, Conflict, NotAuthorized, NotFound
from playhead.journal.promises import PromiseFiles
from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import guarded
from playhead.model.times import parse_time
from playhead.settings.sdk import Settings
from playhead.wire.operations.promises import Promise, PromiseAnswer

log = logging.getLogger("playhead")
# A waiting program polls more often than this; a collector that is down is not asked each time.
_TRY_AGAIN_SECONDS = 5.0
# Interval at which each process with a run asks whether to stop it: for 1,000 processes, 200 small requests a second.
INTERRUPTS_SECONDS = 5.0
# A collector that takes longer counts as down; a waiting program asks again later.
_REQUEST_SECONDS = 2.0


# --- requests in the background ---------------------------------------------------------------------------------------


class BackgroundTasks:
    """Runs tasks in order in a thread that ends when none is left. A forked child begins without tasks."""

    def __init__(self) -> None:
        self._tasks: deque[Callable[[], object]] = deque()
        self._mutex = ForkSafeLock()
        self._thread: threading.Thread | None = None

    def add(self, task: Callable[[], object]) -> None:
        """Adds a task to run later. Never raises: if no thread can be started, the task is dropped."""
        with self._mutex, suppress(RuntimeError):
            if self._thread is None or not self._thread.is_alive():
                self._tasks.clear()  # the parent's, in a forked child
                thread = threading.Thread(target=self._work, name="playhead-promises", daemon=True)
                self._tasks.append(task)
                thread.start()
                self._thread = thread
            else:
                self._tasks.append(task)

    def drain(self, seconds: float) -> None:
        """Waits until all tasks are done, at most `seconds`."""
        until = time.monotonic() + seconds
        while (thread := self._thread) is not None and thread.is_alive() and time.monotonic() < until:
            thread.join(until - time.monotonic())

    def _work(self) -> None:
        while True:
            with self._mutex:
                if not self._tasks:
                    self._thread = None
                    return
                task = self._tasks.popleft()
            with guarded("tell the collector of a promise"):
                task()


# --- the store --------------------------------------------------------------------------------------------------------


class Promises:
    """Implements `api.promises.store.PromiseStore`. Safe for threads."""

    def __init__(
        self,
        files: PromiseFiles,
        client: Callable[[], Any] | None,
        now: Callable[[], float] = time.monotonic,
        on_unreachable: Callable[[CollectorUnreachable], object] = lambda _: None,
    ):
        """`client` makes a client of the collector; None: there is no collector. `on_unreachable`: called when a person
        lists or answers promises while the collector cannot be reached, so only the journal's folder is used."""
        self._on_unreachable = on_unreachable
        self._files = files
        self._make = client
        # The first request comes after an interval: a short-lived program needs none.
        self._next_interrupts = now() + INTERRUPTS_SECONDS
        self._now = now
        self._next_try = float("-inf")
        self._known: set[str] = set()
        """Ids of promises that the collector has confirmed."""
        self._background = BackgroundTasks()

    def open(self, promise: Promise) -> Promise:
        """Stores the promise in the folder, then gives it to the collector if it has no answer."""
        opened = self._files.open(promise)
        if opened["answer"] is not None:
            return opened
        return self._give(opened) or opened

    def announce(self, promise: Promise) -> Promise:
        """Stores the promise in the folder now, and gives it to the collector in the background."""
        opened = self._files.open(promise)
        if opened["answer"] is None:
            self._background.add(lambda: self._give(opened))
        return opened

    def settle(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Answers the promise in the folder if it can be answered there; else tells the collector in the background.
        Returns the promise from the folder; None if the folder does not have it."""
        promise = self._files.answer(promise_id, answer)
        if promise is None:
            self._background.add(lambda: self._tell(promise_id, answer))
            promise = self._files.read(promise_id)
        return promise

    def drain(self, seconds: float) -> None:
        """Waits until the background requests to the collector are done, at most `seconds`."""
        self._background.drain(seconds)

    def read(self, promise_id: str) -> Promise | None:
        """Reads the promise from the folder or the collector; gives an open one to the collector."""
        promise = self._files.read(promise_id)
        if promise is None:
            return self._ask(lambda client: client.promise(promise_id))
        if promise["answer"] is not None:
            return promise
        if promise_id in self._known:
            return self._ask(lambda client: client.promise(promise_id)) or promise
        return self._give(promise) or promise

    def answer(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Answers the promise in the folder or at the collector. Called only by the waiting run, when it stops waiting
        (outcome `expired`)."""
        if not self._files.is_at_collector(promise_id):
            return self._files.answer(promise_id, answer)
        return self._ask(lambda client: client.expire_promise(promise_id))

    def interrupts(self, runs: Sequence[str]) -> list[Promise]:
        """Returns the requests in the folder and, every 5 seconds, those at the collector."""
        local = self._files.interrupts(runs)
        if self._now() < self._next_interrupts:
            return local
        self._next_interrupts = self._now() + INTERRUPTS_SECONDS
        remote = self._ask(
            lambda client: [promise for run in runs for promise in client.promises(run=run, kind="interrupt")]
        )
        return [*local, *(remote or ())]

    def may_wait(self, promise: Promise) -> bool:
        """Returns True: an answer may come at any time."""
        return True

    def listed(self, *, answered: bool = False) -> list[Promise]:
        """Returns promises of the folder and the collector; of the folder alone if the collector cannot be reached.
        Raises JournalUnusable and ClientError."""
        promises = [promise for promise in self._files.all() if answered or promise["answer"] is None]
        if self._make is not None:
            try:
                with self._make() as client:
                    promises += client.promises(state="all" if answered else "open")
            except CollectorUnreachable as error:
                self._on_unreachable(error)
        return sorted({promise["id"]: promise for promise in promises}.values(), key=lambda promise: promise["created"])

    def ids(self, start: str) -> set[str]:
        """Returns ids of the folder and the collector. Also that of a promise which a program is giving to the
        collector at this moment, when neither lists it. Raises JournalUnusable and ClientError."""
        listed = {promise["id"] for promise in self.listed(answered=True)}
        return {promise_id for promise_id in listed.union(self._files.ids()) if promise_id.startswith(start)}

    def decide(self, promise_id: str, answer: PromiseAnswer, new_promise: Promise | None = None) -> Promise:
        """Stores a person's answer where the promise is: in the folder or at the collector. `new_promise`: a promise
        that no run has asked for yet; it goes to the folder if the collector cannot be reached. Raises JournalUnusable,
        and ClientError: NotFound, Conflict if it has an answer already."""
        here = self._files.read(promise_id)
        if here is not None and not self._files.is_at_collector(promise_id):
            self._give(here)  # the collector may have an answer from before a run asked
            if not self._files.is_at_collector(promise_id):
                return self._decide_here(promise_id, answer)
        opened = new_promise or here  # the program may be about to tell the collector of it
        if self._make is not None:
            try:
                with self._make() as client:
                    if opened is not None:
                        open_promise_at(client, opened)
                    return client.answer_promise(
                        promise_id, answer["outcome"], value=answer["value"], by=answer["by"], reason=answer["reason"]
                    )
            except CollectorUnreachable as error:
                if new_promise is None:
                    raise
                self._on_unreachable(error)
        if new_promise is None:
            raise NotFound(f"only a collector can have promise {promise_id}: the journal of this machine has it not")
        self._files.open(new_promise)
        return self._decide_here(promise_id, answer)

    def _decide_here(self, promise_id: str, answer: PromiseAnswer) -> Promise:
        first = self._files.answer(promise_id, answer)
        if first is None:
            raise Conflict(f"the collector has {promise_id} now: answer it again")
        if first["answer"] != answer:
            first_answer = first["answer"] or answer
            raise Conflict(
                f"{first_answer['by'] or 'somebody'} has answered {promise_id} already: {first_answer['outcome']}; "
                "that one counts"
            )
        return first

    def _give(self, promise: Promise) -> Promise | None:
        """Gives an open promise to the collector, if it can be asked now. Returns the promise with its answer; None: it
        stays in the folder, or the collector has not confirmed it."""
        if self._ask(lambda client: list(client.promises(limit=1))) is None:
            return None
        if not self._files.give_to_collector(promise["id"]):
            return self._files.read(promise["id"])  # answered here meanwhile
        stored = self._ask(lambda client: open_promise_at(client, promise))
        if stored is not None:
            self._known.add(promise["id"])
        return stored

    def _tell(self, promise_id: str, answer: PromiseAnswer) -> None:
        """Sends the collector the answer with which a program continued. If the API key may not answer promises, marks
        the promise as expired instead."""

        def answered(client: Any) -> None:
            try:
                client.answer_promise(promise_id, answer["outcome"], value=answer["value"], by=answer["by"])
            except Conflict:
                return  # a person answered first; the answer that the program used is in its run
            except NotAuthorized:
                client.expire_promise(promise_id)

        self._ask(answered)

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        """Returns the collector's response; None: it does not know the promise, or cannot be asked now."""
        if self._make is None or self._now() < self._next_try:
            return None
        try:
            with self._make() as client:  # closed after use: a forked child would share an open connection
                return question(client)
        except NotFound:
            return None
        except CollectorUnreachable:
            self._next_try = self._now() + _TRY_AGAIN_SECONDS
            return None
        except ClientError as error:
            self._next_try = self._now() + _TRY_AGAIN_SECONDS
            log.warning("the collector does not keep promises for this program (%s): they wait in the journal", error)
            return None


# --- the store of this process ----------------------------------------------------------------------------------------


class _ProcessPromises:
    mutex = threading.Lock()
    key: tuple[Path, str | None] | None = None
    promises: Promises | None = None


def promises_of(settings: Settings) -> Promises:
    """Returns the store for these settings: the same one as long as journal and collector are the same."""
    key = (settings.journal_dir, settings.endpoint)
    with _ProcessPromises.mutex:
        if _ProcessPromises.promises is None or _ProcessPromises.key != key:
            client = None if settings.endpoint is None else lambda: _collector_client(settings)
            files = PromiseFiles(settings.journal_dir, settings.promise_keep_seconds)
            _ProcessPromises.key, _ProcessPromises.promises = key, Promises(files, client)
        return _ProcessPromises.promises


def drain_promises(seconds: float) -> None:
    """Waits until the collector knows this process's promises, at most `seconds`."""
    if _ProcessPromises.promises is not None:
        _ProcessPromises.promises.drain(seconds)


def _collector_client(settings: Settings) -> Any:
    from playhead.client import Client  # noqa: PLC0415 - an HTTP client is needed only by programs that wait

    return Client(settings.collector, settings.api_key, project=settings.project, timeout_seconds=_REQUEST_SECONDS)


def open_promise_at(client: Any, promise: Promise) -> Promise:
    """Opens a promise at the collector that `client` asks. If it exists already, returns it with its answer."""
    names = ("id", "kind", "run", "name", "action", "risk", "details")
    seconds = None
    if promise["deadline"] is not None:
        seconds = max(0.0, (parse_time(promise["deadline"]) - parse_time(promise["created"])) / 1e9)
    return client.open_promise(
        **{name: promise[name] for name in names}, key=promise["key"] or "", expected=promise["schema"], seconds=seconds
    )
