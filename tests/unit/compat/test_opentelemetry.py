"""OpenTelemetry's private names are where the installed version has them, and mean what we take them for."""

from opentelemetry import context
from opentelemetry.instrumentation.utils import is_instrumentation_enabled, suppress_instrumentation

from playhead.compat.opentelemetry import SUPPRESSED


def test_switching_instrumentation_off_sets_the_key():
    assert context.get_value(SUPPRESSED) is None
    with suppress_instrumentation():
        assert context.get_value(SUPPRESSED)
    assert context.get_value(SUPPRESSED) is None


def test_the_key_switches_instrumentation_off_as_exporters_of_the_sdk_do():
    token = context.attach(context.set_value(SUPPRESSED, True))
    try:
        assert not is_instrumentation_enabled()
    finally:
        context.detach(token)
