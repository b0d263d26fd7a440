"""Finds out whether an instrumented client inside a framework's model class records the model call.

A framework calls its model through a class of its own, which may call a client, which may be instrumented.  The
framework's call begins first, but only the client's call is to be recorded, since the client sees the request as it is
sent.  So the framework's call is a scope, and a model call that is recorded inside claims it.
"""

from collections.abc import Generator
from contextlib import contextmanager, suppress

from opentelemetry import context as otel
from opentelemetry.context import Context

from playhead.calls.begin import CONTEXTS

_SCOPE = otel.create_key("playhead-model-scope")


class ModelScope:
    """A call of a framework's model, from its beginning until it is known who records it.  Safe for threads."""

    __slots__ = ("_around", "is_claimed")

    def __init__(self) -> None:
        self.is_claimed = False
        """Whether a model call was recorded inside."""
        self._around = _scope_in(CONTEXTS.get_current())

    @contextmanager
    def current(self) -> Generator[None]:
        """Context in which model calls claim this scope, also in tasks and threads that inherit the context."""
        token = CONTEXTS.attach(Context({**CONTEXTS.get_current(), _SCOPE: self}))
        try:
            yield
        finally:
            with suppress(ValueError):  # the token is from another context
                CONTEXTS.detach(token)

    def claim(self) -> None:
        """Notes that a model call inside is recorded.  Also claims the scopes around this one: a framework's model may
        call another model of a framework."""
        self.is_claimed = True
        if self._around is not None:
            self._around.claim()


def claim_scope(where: Context) -> None:
    """Claims the scope in this context, if there is one."""
    if _SCOPE in where:  # cheap look-up first: most model calls have no framework around them
        scope = _scope_in(where)
        if scope is not None:
            scope.claim()


def _scope_in(where: Context) -> ModelScope | None:
    scope = where.get(_SCOPE)
    return scope if isinstance(scope, ModelScope) else None
