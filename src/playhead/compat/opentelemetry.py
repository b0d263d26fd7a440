"""Private names of OpenTelemetry that have no public counterpart which serves.

Tested with opentelemetry-api 1.41 to 1.45; `tests/unit/compat/test_opentelemetry.py` fails when a version moves them.
"""

from opentelemetry import context

# The key that `opentelemetry.instrumentation.utils.suppress_instrumentation` and the exporters of the SDK set. The
# public question, `is_instrumentation_enabled` of that module, imports wrapt, asyncio and ssl. That is too much for a
# program that only imports `observe`, and fails in one that is short of descriptors when its first call is made.
SUPPRESSED = context._SUPPRESS_INSTRUMENTATION_KEY  # pyright: ignore[reportPrivateUsage]
