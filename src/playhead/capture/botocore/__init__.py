"""`botocore` (and so boto3): models on Amazon Bedrock, by Converse or by their own APIs, and no other service.

All calls of all services go through one method of the client, so the name of the service is checked first.  The
client's own retries happen inside that method, so they are one call here.  aiobotocore is not observed.
"""

from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from playhead.capture.botocore import converse, invoke
from playhead.capture.botocore.answers import record_converse, record_invoked
from playhead.capture.botocore.replay import STREAMED, restore, with_own_error
from playhead.capture.client_methods import ClientApi, MethodCall, begin_call, end_call
from playhead.capture.patching import Instrumentation, Wrap

SUPPORTS = "botocore >= 1.35"

_SERVICE = "bedrock-runtime"


def _is_streamed(call: MethodCall) -> bool:
    return call.args[0] in STREAMED


def _restore(raw: Any, call: MethodCall, ending: BaseException | None) -> Any:
    return restore(raw, call.client, call.args[0], ending)


_CONVERSE = ClientApi(
    read_request=converse.read_request,
    is_streamed=_is_streamed,
    read_response=lambda raw, run, call: converse.read_recorded(raw),
    assemble=lambda raws, run, call: converse.read_recorded(raws[0]),
    read_recorded=lambda raw, run, call: converse.read_recorded(raw),
    restore=_restore,
    with_message=lambda raw, message, call: converse.with_message(raw, message, streamed=_is_streamed(call)),
    with_edit=converse.with_edit,
    record_result=record_converse,
)
_INVOKE = ClientApi(
    read_request=invoke.read_request,
    is_streamed=_is_streamed,
    read_response=lambda raw, run, call: invoke.read_recorded(raw, call),
    assemble=lambda raws, run, call: invoke.read_recorded(raws[0], call),
    read_recorded=lambda raw, run, call: invoke.read_recorded(raw, call),
    restore=_restore,
    with_message=invoke.with_message,
    with_edit=lambda call, messages, system: invoke.with_edit(call, messages),
    record_result=record_invoked,
)
_APIS = {
    "Converse": _CONVERSE,
    "ConverseStream": _CONVERSE,
    "InvokeModel": _INVOKE,
    "InvokeModelWithResponseStream": _INVOKE,
}


class BotocoreInstrumentor(BaseInstrumentor):
    """For `opentelemetry-instrument`, and for programs that use OpenTelemetry's instrumentors."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """Returns the supported versions of the library."""
        return (SUPPORTS,)

    def _instrument(self, **kwargs: Any) -> None:
        patch()

    def _uninstrument(self, **kwargs: Any) -> None:
        unpatch()


def _make_api_call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Wraps `_make_api_call(operation_name, api_params)`, which every method of every client calls."""
    if instance._service_model.service_name != _SERVICE or len(args) != len(("operation", "parameters")):
        return wrapped(*args, **kwargs)
    api = _APIS.get(args[0])
    return wrapped(*args, **kwargs) if api is None else _observed(api, wrapped, instance, args)


def _observed(api: ClientApi, wrapped: Any, instance: Any, args: tuple[Any, ...]) -> Any:
    call = MethodCall(instance, args[0], args, {})
    observed = begin_call(api, call)
    if observed is None:
        return wrapped(*args)
    if observed.answer is not None:
        return observed.unwrap(with_own_error(observed.answer, instance))
    if observed.edited is not None:
        call = observed.edited
    try:
        return end_call(api, observed, wrapped(*call.args), call)
    except BaseException as error:
        observed.fail(error)
        raise


_botocore = Instrumentation([Wrap("botocore.client", "BaseClient._make_api_call", _make_api_call)])
patch, unpatch = _botocore.patch, _botocore.unpatch
