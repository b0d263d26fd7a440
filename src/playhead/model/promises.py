"""Promises: what a run waits for from outside: a decision, an answer, an event.  Their kinds, and ids made of what is
asked."""

from typing import Any, Final

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
"""Who has answered when a framework went on with a value that no promise has."""
OUTCOMES: Final = (APPROVED, DENIED, ANSWERED, EXPIRED)


def digest_of(asked: Any) -> str:
    """Returns 32 hex digits that differ when anything of what is asked differs."""
    return content_of(asked).ref.digest.hex()[:32]


def promise_id(kind: str, scope: str | None, key: str, digest: str) -> str:
    """Returns the id (32 hex digits) of a promise. `scope`: the run that asks; None where `key` stands for itself."""
    return sha256(f"{kind} {scope or '-'} {key} {digest}".encode(errors="surrogatepass")).hexdigest()[:32]


def approval_id(key: str, action: str, details: Any = None) -> str:
    """Returns the id of an approval with a key of the program's own: known before it is asked for."""
    return promise_id(APPROVAL, None, key, digest_of([action, None, details]))


def event_id(name: str, key: str) -> str:
    """Returns the id of an event from outside that runs wait for, by name and key."""
    return promise_id(EVENT, None, f"{name} {key}", "")
