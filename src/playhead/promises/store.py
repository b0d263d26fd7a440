"""The promises of a process: in the journal's folder, or with the collector once that has them.

Each promise has one place where it is answered.  It is opened in the journal's folder first, so that it is durable;
then it is given to the collector, if one answers, and from then on only the collector can answer it.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from playhead.errors import ClientError, CollectorUnreachable, Conflict, NotAuthorized, NotFound
from playhead.promises.background import BackgroundTasks
from playhead.promises.files import PromiseFiles
from playhead.wire.answers.promises import Promise, PromiseAnswer

log = logging.getLogger("playhead")

# A waiting program polls more often than this; a collector that is down is not asked each time.
_TRY_AGAIN_SECONDS = 5.0
# Interval at which each process with a run asks whether to stop it: for 1,000 processes, 200 small requests a second.
INTERRUPTS_SECONDS = 5.0


class Promises:
    """Implements `api.promises.port.PromiseStore`. Safe for threads."""

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
        # Not at once: a short-lived program needs no such request.
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
        """Answers the promise in the folder if that can answer it; else tells the collector in the background."""
        found = self._files.answer(promise_id, answer)
        if found is None:
            self._background.add(lambda: self._tell(promise_id, answer))
            found = self._files.read(promise_id)
        return found

    def drain(self, seconds: float) -> None:
        """Waits until the background requests to the collector are done, at most `seconds`."""
        self._background.drain(seconds)

    def read(self, promise_id: str) -> Promise | None:
        """Reads the promise from the folder or the collector; gives an open one to the collector."""
        found = self._files.read(promise_id)
        if found is None:
            return self._ask(lambda client: client.promise(promise_id))
        if found["answer"] is not None:
            return found
        if promise_id in self._known:
            return self._ask(lambda client: client.promise(promise_id)) or found
        return self._give(found) or found

    def answer(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Answers the promise in the folder or at the collector. Called only by the waiting run, when it stops waiting
        (outcome `expired`)."""
        if not self._files.is_at_collector(promise_id):
            return self._files.answer(promise_id, answer)
        return self._ask(lambda client: client.expire_promise(promise_id))

    def interrupts(self, runs: Sequence[str]) -> list[Promise]:
        """Returns the requests in the folder and, every 5 seconds, those at the collector."""
        found = self._files.interrupts(runs)
        if self._now() < self._next_interrupts:
            return found
        self._next_interrupts = self._now() + INTERRUPTS_SECONDS
        asked = self._ask(lambda client: [each for run in runs for each in client.promises(run=run, kind="interrupt")])
        return [*found, *(asked or ())]

    def may_wait(self, promise: Promise) -> bool:
        """Returns True: an answer may come at any time."""
        return True

    def listed(self, *, answered: bool = False) -> list[Promise]:
        """Returns promises of the folder and the collector; of the folder alone if the collector cannot be reached.
        Raises JournalUnusable and ClientError."""
        found = [each for each in self._files.all() if answered or each["answer"] is None]
        if self._make is not None:
            try:
                with self._make() as client:
                    found += client.promises(state="all" if answered else "open")
            except CollectorUnreachable as error:
                self._on_unreachable(error)
        return sorted({each["id"]: each for each in found}.values(), key=lambda each: each["created"])

    def decide(self, promise_id: str, answer: PromiseAnswer, asked: Promise | None = None) -> Promise:
        """Stores a person's answer where the promise is: in the folder or at the collector. `asked`: a promise that no
        run has asked for yet; it goes to the folder if the collector cannot be reached. Raises JournalUnusable, and
        ClientError: NotFound, Conflict if it has an answer already."""
        here = self._files.read(promise_id)
        if here is not None and not self._files.is_at_collector(promise_id):
            self._give(here)  # the collector may have an answer that was given before a run asked
            if not self._files.is_at_collector(promise_id):
                return self._decide_here(promise_id, answer)
        opened = asked or here  # the program may be about to tell the collector of it
        if self._make is not None:
            try:
                with self._make() as client:
                    if opened is not None:
                        client.open_promise(opened)
                    return client.answer_promise(
                        promise_id, answer["outcome"], value=answer["value"], by=answer["by"], reason=answer["reason"]
                    )
            except CollectorUnreachable as error:
                if asked is None:
                    raise
                self._on_unreachable(error)
        if asked is None:
            raise NotFound(f"only a collector can have promise {promise_id}: the journal of this machine has it not")
        self._files.open(asked)
        return self._decide_here(promise_id, answer)

    def _decide_here(self, promise_id: str, answer: PromiseAnswer) -> Promise:
        first = self._files.answer(promise_id, answer)
        if first is None:
            raise Conflict(f"the collector has {promise_id} now: answer it again")
        if first["answer"] != answer:
            known = first["answer"] or answer
            raise Conflict(
                f"{known['by'] or 'somebody'} has answered {promise_id} already: {known['outcome']}; that one counts"
            )
        return first

    def _give(self, promise: Promise) -> Promise | None:
        """Gives an open promise to the collector, if it can be asked now; None: it stays here."""
        if self._ask(lambda client: list(client.promises(limit=1))) is None:
            return None
        if not self._files.give_to_collector(promise["id"]):
            return self._files.read(promise["id"])  # answered here meanwhile
        given = self._ask(lambda client: client.open_promise(promise))
        if given is not None:
            self._known.add(promise["id"])
        return given

    def _tell(self, promise_id: str, answer: PromiseAnswer) -> None:
        """Tells the collector with which answer a program continued; if its key must not answer, expires the promise
        instead."""

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
            with self._make() as client:  # a connection that is kept would be a forked child's, too
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
