"""Promises: decisions, answers and events from outside for which a run waits.  Their kinds, and their ids, which are
digests of the question."""

from typing import Final

from playhead.model.canonical import content_of
from playhead.model.digest import sha256

APPROVAL: Final = "approval"
INPUT: Final = "input"
EVENT: Final = "event"
INTERRUPT: Final = "interrupt"
KINDS: Final = (APPROVAL, INPUT, EVENT, INTERRUPT)

APPROVED: Final = "approved"
DENIED: Final = "denied"
ANSWERED: Final = "answered"
EXPIRED: Final = "expired"
BY_PROGRAM: Final = "the program"
"""The answerer's name when a framework continued with a value that is not from a promise."""
OUTCOMES: Final = (APPROVED, DENIED, ANSWERED, EXPIRED)


def digest_of(question: object) -> str:
    """Returns the digest of a question, 32 hex digits."""
    return content_of(question).ref.digest.hex()[:32]


def promise_id(kind: str, scope: str | None, key: str, digest: str) -> str:
    """Returns the id (32 hex digits) of a promise. `scope`: the run that asks; None if `key` is unique by itself."""
    return sha256(f"{kind} {scope or '-'} {key} {digest}".encode(errors="surrogatepass")).hexdigest()[:32]


def approval_id(key: str, action: str, details: object = None) -> str:
    """Returns the id of an approval with a key chosen by the program, so that it is known before the request."""
    return promise_id(APPROVAL, None, key, digest_of([action, None, details]))


def event_id(name: str, key: str) -> str:
    """Returns the id of an event from outside that runs wait for, by name and key."""
    return promise_id(EVENT, None, f"{name} {key}", "")
