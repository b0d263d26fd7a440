"""Destinations as operators write them down, in variables and in a file."""

import re
from pathlib import Path

import pytest

from playhead.settings.table import table_of
from playhead_collector.app import configured
from playhead_collector.destination_settings import (
    COMMON_VARIABLES,
    KINDS,
    PREFIX,
    LangfuseSettings,
    OtlpSettings,
    PhoenixSettings,
    destinations,
    variables,
)
from playhead_collector.errors import BadSetting
from playhead_collector.settings import load, table

LANGFUSE = {
    "PLAYHEAD_FORWARD_LANGFUSE_URL": "https://cloud.langfuse.com/",
    "PLAYHEAD_FORWARD_LANGFUSE_PUBLIC_KEY": "pk-lf-1",
    "PLAYHEAD_FORWARD_LANGFUSE_SECRET_KEY": "sk-lf-2",
}

OTLP = {"PLAYHEAD_FORWARD_OTLP_URL": "http://x"}


def test_without_variables_there_is_none():
    assert load({}).destinations == ()


def test_several_of_each_kind_have_names():
    environ = LANGFUSE | {
        "PLAYHEAD_FORWARD_OTLP_URL": "http://one:4318",
        "PLAYHEAD_FORWARD_OTLP_EU_WEST_URL": "http://two:4318",
        "PLAYHEAD_FORWARD_OTLP_EU_WEST_MAX_REQUEST_BYTES": "1 MiB",
        "PLAYHEAD_FORWARD_OTLP_EU_WEST_HEADERS": "Authorization=Bearer%20x, x-team=a",
        "PLAYHEAD_FORWARD_OTLP_EU_WEST_STATUSES": "failed,Cancelled",
        "PLAYHEAD_FORWARD_PHOENIX_URL": "http://three:6006",
        "PLAYHEAD_FORWARD_PHOENIX_SAMPLE": "0.25",
        "PLAYHEAD_FORWARD_PHOENIX_CONTENT": "preview",
        "PLAYHEAD_FORWARD_PHOENIX_PROJECT": "",
    }
    langfuse, otlp, west, phoenix = load(environ).destinations
    assert isinstance(langfuse, LangfuseSettings)
    assert (langfuse.name, langfuse.url, langfuse.content) == ("langfuse", "https://cloud.langfuse.com", "full")
    assert (otlp.name, otlp.sample) == ("otlp", 1.0)
    assert isinstance(west, OtlpSettings)
    assert (west.name, west.max_request_bytes, west.statuses) == ("otlp-eu_west", 2**20, ("failed", "cancelled"))
    assert west.headers == {"authorization": "Bearer x", "x-team": "a"}
    assert isinstance(phoenix, PhoenixSettings)
    assert (phoenix.sample, phoenix.content, phoenix.project) == (0.25, "preview", None)


def test_a_file_says_the_same(tmp_path: Path):
    file = tmp_path / "forward.toml"
    file.write_text(
        """
        [[destination]]
        kind = "otlp"
        name = "East"
        url = "http://east:4318"
        protocol = "grpc"
        logs = false
        sample = 0.5
        tags = ["eu", "beta"]
        mask_pattern = '\\d{4}'
        timeout_seconds = 10
        headers = {authorization = "Bearer a,b=c"}

        [[destination]]
        kind = "phoenix"
        url = "http://phoenix:6006"
        """
    )
    east, phoenix = destinations({}, file)
    assert isinstance(east, OtlpSettings)
    assert (east.name, east.protocol, east.logs, east.sample) == ("otlp-east", "grpc", False, 0.5)
    assert (east.tags, east.timeout_seconds) == (("eu", "beta"), 10.0)
    assert east.mask_pattern == re.compile(r"\d{4}")
    assert east.headers == {"authorization": "Bearer a,b=c"}
    assert phoenix.name == "phoenix"
    with pytest.raises(BadSetting, match="two destinations phoenix"):
        destinations({"PLAYHEAD_FORWARD_PHOENIX_URL": "http://other"}, file)
    assert load({"PLAYHEAD_FORWARD_FILE": str(file)}).destinations == (east, phoenix)


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"PLAYHEAD_FORWARD_OTLP_ULR": "http://x"}, "PLAYHEAD_FORWARD_OTLP_ULR is no setting .* URL"),
        ({"PLAYHEAD_FORWARD_OTLP_SAMPLE": "0.1"}, "otlp has no URL"),
        ({"PLAYHEAD_FORWARD_OTLP_URL": "ftp://x"}, "PLAYHEAD_FORWARD_OTLP_URL cannot be"),
        ({"PLAYHEAD_FORWARD_OTLP_URL": "http://me:pw@x"}, "a user or password in it"),
        ({"PLAYHEAD_FORWARD_LANGFUSE_URL": "http://x"}, "no keys: set its PUBLIC_KEY and SECRET_KEY"),
        (OTLP | {"PLAYHEAD_FORWARD_OTLP_SAMPLE": "2"}, "SAMPLE cannot be '2'"),
        (
            OTLP | {"PLAYHEAD_FORWARD_OTLP_STATUSES": "odd"},
            "STATUSES cannot be 'odd'",
        ),
        (
            OTLP | {"PLAYHEAD_FORWARD_OTLP_MASK_PATTERN": "("},
            "MASK_PATTERN cannot be",
        ),
        (OTLP | {"PLAYHEAD_FORWARD_OTLP_HEADERS": "a b=c"}, "HEADERS cannot be the"),
        ({"PLAYHEAD_FORWARD_OTLP_Ä_URL": "http://x"}, "names a destination"),
        ({"PLAYHEAD_FORWARD_FILE": "/nowhere.toml"}, "cannot be read"),
        (
            {"PLAYHEAD_FORWARD_ZIPKIN_URL": "http://x"},
            "PLAYHEAD_FORWARD_ZIPKIN_URL names no kind .*: correct it .*LANGFUSE_.*PHOENIX_.*OTLP_.*, or unset it",
        ),
        ({"PLAYHEAD_FORWARD_PHOENIXURL": "http://x"}, "PHOENIXURL names no kind of destination"),
        (OTLP | {"PLAYHEAD_FORWARD_MAX_AGE": ""}, "MAX_AGE names no kind .*MAX_AGE_SECONDS.*, or unset it"),
        ({f"PLAYHEAD_FORWARD_OTLP_{n}_URL": "http://x" for n in range(21)}, "more than 20"),
    ],
)
def test_what_cannot_be_used_ends_the_start_with_a_sentence(environ: dict[str, str], says: str):
    with pytest.raises(BadSetting, match=says) as error:
        configured(load(environ))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[destination", r"is no TOML \(.*\): correct it.* \[\[destination\]\]"),
        ("[[destination]]\nkind = 'zipkin'", "has the unknown kind 'zipkin': set it to one of langfuse, otlp, phoenix"),
        ("[[destination]]\nkind = 'otlp'\nname = 1", "has the name 1, which is no text: write it in quotation"),
        ("destination = 1", "no list of destinations"),
        ("[[destination]]\nurl = 'http://x'", "has no kind"),
        ("[[destination]]\nkind = 'otlp'\nulr = 'http://x'", "'ulr', which is no setting: use some of .* url"),
        ("[[destination]]\nkind = 'otlp'\nurl = 'http://x'\nsample = []", "sample of destination 1 in .* cannot be"),
    ],
)
def test_a_file_that_cannot_be_used_ends_the_start_with_a_sentence(tmp_path: Path, text: str, says: str):
    file = tmp_path / "forward.toml"
    file.write_text(text)
    with pytest.raises(BadSetting, match=says):
        destinations({}, file)


def test_variables_of_all_destinations_are_those_of_the_collector_s_table():
    known = {line.env for line in table() if line.env.startswith(PREFIX)}
    assert known == COMMON_VARIABLES
    assert load({"PLAYHEAD_FORWARD_MAX_ITEMS": "7000"}).forward_max_items == 7000


def test_secrets_are_shown_nowhere():
    given = destinations(LANGFUSE | {"PLAYHEAD_FORWARD_LANGFUSE_HEADERS": "authorization=hidden"})
    assert "sk-lf-2" not in repr(given)
    assert "hidden" not in repr(given)
    shown = dict(variables(LANGFUSE | {"PLAYHEAD_FORWARD_LANGFUSE_HEADERS": "authorization=hidden"}))
    assert shown["PLAYHEAD_FORWARD_LANGFUSE_SECRET_KEY"] == "set (not shown)"
    assert shown["PLAYHEAD_FORWARD_LANGFUSE_HEADERS"] == "set (not shown)"
    assert shown["PLAYHEAD_FORWARD_LANGFUSE_URL"] == "https://cloud.langfuse.com"


def test_no_setting_s_name_ends_another_s():
    """PUBLIC_KEY and KEY in one table would make names of destinations ambiguous."""
    for kind in KINDS.values():
        names = [line.env for line in table_of(kind)]
        assert [(a, b) for a in names for b in names if a != b and a.endswith(f"_{b}")] == []
