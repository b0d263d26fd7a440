"""Labels of model calls: attributes that code around a call sets for it, whoever records it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast

from opentelemetry import context as otel
from opentelemetry.context import Context

Label = str | int
_LABELS = otel.create_key("playhead-labels")


@contextmanager
def labelled(labels: Mapping[str, Label]) -> Generator[None]:
    """Sets attributes (by name) on the model calls that begin inside the block, besides those of blocks around it.

    Inside a run, that is in the record; outside one, it has no effect on calls that nothing records."""
    where = otel.get_current()
    token = otel.attach(otel.set_value(_LABELS, {**labels_in(where), **labels}, where))
    try:
        yield
    finally:
        otel.detach(token)


def labels_in(where: Context) -> Mapping[str, Label]:
    """Returns the labels of a context."""
    found = where.get(_LABELS)
    return cast("Mapping[str, Label]", found) if isinstance(found, dict) else {}
