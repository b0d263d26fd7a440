"""The web UI's types are those of the API."""

from tests.ui.types_of_answers import WRITTEN, generate


def test_the_types_of_answers_are_generated_from_openapi():
    assert WRITTEN.read_text() == generate(), "schema.d.ts is stale: make ui-types"
