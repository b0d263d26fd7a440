"""Which settings of a model's request are compared with the record, and which say only who asks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playhead.calls.caller_settings import CALLER_SETTINGS, compared_settings, declare_caller_settings


@pytest.fixture(autouse=True)
def nothing_declared() -> Iterator[None]:
    yield
    declare_caller_settings(())


@pytest.mark.parametrize("name", sorted(CALLER_SETTINGS))
def test_who_asks_is_not_compared(name: str) -> None:
    assert compared_settings({"temperature": 0, name: "somebody"}) == {"temperature": 0}


def test_the_documentation_lists_them_all() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference-resume.md").read_text("utf-8")
    section = page.partition("## Settings that say who asks")[2].partition("\n## ")[0]
    assert [name for name in CALLER_SETTINGS if f"`{name}`" not in section] == []


@pytest.mark.parametrize("name", ["temperature", "previous_response_id", "thinking", "tool_choice", "USER"])
def test_all_else_is_compared(name: str) -> None:
    settings = {name: 1}
    assert compared_settings(settings) is settings


@pytest.mark.parametrize("name", ["extra_body", "extra_args", "model_kwargs", "additionalModelRequestFields"])
def test_what_a_client_passes_through_is_looked_into(name: str) -> None:
    assert compared_settings({name: {"top_k": 1, "user": "a"}}) == {name: {"top_k": 1}}
    assert compared_settings({name: {"user": "a"}}) == {}
    settings = {name: {"top_k": 1}}
    assert compared_settings(settings) is settings


def test_other_nested_values_are_compared_whole() -> None:
    settings = {"response_format": {"user": "a"}, "extra_body": "text"}
    assert compared_settings(settings) is settings


def test_the_given_settings_are_left_as_they_were() -> None:
    settings = {"user": "a", "extra_body": {"user": "b", "top_k": 1}}
    compared_settings(settings)
    assert settings == {"user": "a", "extra_body": {"user": "b", "top_k": 1}}


def test_more_can_be_declared_and_the_last_declaration_counts() -> None:
    declare_caller_settings(["tenant"])
    assert compared_settings({"tenant": 1, "user": "a"}) == {}
    declare_caller_settings(["job"])
    assert compared_settings({"tenant": 1, "job": 2}) == {"tenant": 1}


@pytest.mark.parametrize("settings", [None, [], "text", 5])
def test_what_is_no_mapping_is_compared_as_it_is(settings: Any) -> None:
    assert compared_settings(settings) is settings
