"""`playhead.export_to`: sends spans from this process to Langfuse, Phoenix or any OTLP backend, without a collector."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

from playhead.calls.recorder import Redact
from playhead.export.destinations.target import ExportTarget, export_target
from playhead.export.target import ShipTarget
from playhead.kernel.guard import log
from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.recording import RecordingProcess, add_export


def export_to(
    kind: Literal["langfuse", "phoenix", "otlp"],
    *,
    endpoint: str | None = None,
    api_key: str | None = None,
    public_key: str | None = None,
    secret_key: str | None = None,
    project: str | None = None,
    headers: Mapping[str, str] | None = None,
    content: Literal["full", "preview", "ref"] = "full",
    preview_characters: int = 500,
    redact: Redact | None = None,
    public_url: str | None = None,
    collector: bool | None = None,
) -> None:
    """Sends recorded spans with their content to a destination, in its vocabulary, from a background thread.

        playhead.export_to("phoenix", endpoint="http://127.0.0.1:6006", project="shop")
        playhead.export_to("langfuse")  # LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY
        playhead.export_to("otlp", endpoint="http://127.0.0.1:4318", headers={"authorization": "Bearer ..."})

    Missing arguments are read from the tool's own variables (`LANGFUSE_*`, `PHOENIX_COLLECTOR_ENDPOINT`,
    `PHOENIX_API_KEY`, `PHOENIX_PROJECT_NAME`, `OTEL_EXPORTER_OTLP_ENDPOINT`).  `content`: send all content (`full`),
    the first `preview_characters` of each message (`preview`), or a link only (`ref`).  `redact` is called with each
    payload again, before it is sent.  `public_url`: address of Playhead's pages, for links (else
    `PLAYHEAD_PUBLIC_URL`).  `collector`: whether a Playhead collector also gets the spans; by default if its address
    was set (`PLAYHEAD_ENDPOINT`, `configure(endpoint=...)`).

    Each destination has its own position in the journal: one that is down does not delay the others, and gets the
    missed spans when it is up again. `playhead.flush()` waits for all of them. Raises SettingInvalid for a wrong
    argument; later errors are logged and never raised.
    """
    target = export_target(
        kind, os.environ, endpoint=endpoint, api_key=api_key, public_key=public_key, secret_key=secret_key,
        project=project, headers=headers, content=content, preview_characters=preview_characters,
        redact=_guarded(redact) if callable(redact) else redact, public_url=public_url,
    )  # fmt: skip
    with RecordingProcess.mutex:
        if collector is not None:
            RecordingProcess.with_collector = collector
        add_export(ShipTarget(target.name, _delivery(target), note=target.note))
    log.debug("spans go to %s", target.url)


def _delivery(target: ExportTarget) -> Callable[..., Any]:
    def make(*arguments: object) -> Any:
        from playhead.export.destinations.delivery import DestinationDelivery  # noqa: PLC0415 - imports HTTP

        return DestinationDelivery.maker(target)(*arguments)

    return make


def _guarded(redact: Redact) -> Callable[[Any], Any]:
    """Returns the hook, wrapped so that every error becomes a RuntimeError: that content is left out, and the export
    thread continues."""

    def guarded(value: object) -> Any:
        try:
            return redact(value)
        except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
            reraise_if_for_program(error)
            raise RuntimeError(type(error).__name__) from None

    return guarded
