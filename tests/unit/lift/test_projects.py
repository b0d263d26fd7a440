"""Phoenix's projects are tags of runs: a collector has one project."""

from typing import Any

import pytest

from playhead.lift import lift
from playhead.model import names
from tests.unit.lift.spans import a_span


def tags(project: Any, **attributes: Any) -> Any:
    span = a_span(attributes, resource={"openinference.project.name": project})
    return lift(span).span.attributes.get(names.RUN_TAGS)


@pytest.mark.parametrize(
    ("project", "found"),
    [("shop", ["shop"]), ("default", None), ("", None), (7, None), ("x" * 300, None), (None, None), (["shop"], None)],
)
def test_the_project_of_a_resource_is_a_tag(project: Any, found: Any):
    assert tags(project) == found


def test_tags_of_the_sender_stay():
    assert tags("shop", **{"tag.tags": ["a", "b"], "openinference.span.kind": "CHAIN"}) == ["a", "b", "shop"]
    assert tags("a", **{"tag.tags": ["a", "b"], "openinference.span.kind": "CHAIN"}) == ["a", "b"]


def test_only_the_first_span_of_a_run_has_it():
    span = a_span({}, resource={"openinference.project.name": "shop"})
    span.parent_id = "c" * 16
    assert names.RUN_TAGS not in lift(span).span.attributes
