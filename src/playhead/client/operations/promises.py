"""[client]: promises: what runs wait for."""

from typing import Any, Literal

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method
from playhead.model.times import parse_time
from playhead.wire.operations.promises import Promise


class PromisesOperations:
    """What runs wait for: approvals, answers, events, requests to stop."""

    @paged_client_method
    def promises(
        self,
        *,
        state: Literal["open", "answered", "all"] = "open",
        kind: Literal["approval", "input", "event", "interrupt"] | None = None,
        run: str | None = None,
        limit: int | None = None,
    ) -> PagedRequest[Promise]:
        """Promises (what runs wait for), oldest first. `run` is a whole id."""
        return PagedRequest("promises", {"state": state, "kind": kind, "run": run}, limit)

    @client_method
    def promise(self, promise: str) -> ApiRequest[Promise]:
        """A promise with its answer.  Raises NotFound."""
        return ApiRequest(f"promises/{promise}")

    @client_method
    def open_promise(self, promise: Promise) -> ApiRequest[Promise]:
        """Open a promise. If it exists already, returns it unchanged, with its answer."""
        names = ("id", "kind", "key", "run", "name", "action", "risk", "details", "schema")
        body: dict[str, Any] = {name: promise[name] for name in names if promise[name] is not None}
        body["key"] = body.get("key", "")
        if promise["deadline"] is not None:
            body["seconds"] = max(0.0, (parse_time(promise["deadline"]) - parse_time(promise["created"])) / 1e9)
        return ApiRequest("promises", body=body)

    @client_method
    def answer_promise(
        self,
        promise: str,
        outcome: Literal["approved", "denied", "answered"],
        *,
        value: Any = None,
        by: str | None = None,
        reason: str | None = None,
    ) -> ApiRequest[Promise]:
        """Answer a promise.  Raises Conflict if it has an answer already; the message says which."""
        body: dict[str, Any] = {"outcome": outcome, "value": value, "by": by, "reason": reason}
        return ApiRequest(f"promises/{promise}", body=body)

    @client_method
    def expire_promise(self, promise: str) -> ApiRequest[Promise]:
        """Mark a promise as expired: nobody waits for it any more. If it was answered meanwhile, it keeps that
        answer."""
        return ApiRequest(f"promises/{promise}/expire", method="POST", body={})
