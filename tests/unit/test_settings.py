"""The SDK's settings: read once, from options first and the environment second; a bad value says what to do."""

from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.errors import SettingInvalid
from playhead.settings.sdk import Settings, default_journal_dir, in_force, load, table


def test_the_defaults_need_no_environment():
    settings = load({})
    assert (settings.endpoint, settings.durability, settings.record) == ("http://127.0.0.1:4318", "process", "sampled")
    assert (settings.capture_content, settings.capture_reasoning, settings.disabled) == (True, True, False)
    assert (settings.headers, settings.api_key) == ((), None)


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318", "endpoint", "https://collector:4318"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=1, B=x%20y", "headers", (("a", "1"), ("b", "x y"))),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318", "endpoint_is_otel", True),
        ("PLAYHEAD_ENDPOINT", "https://collector:4318", "endpoint", "https://collector:4318"),
        ("PLAYHEAD_ENDPOINT", "https://collector:4318", "endpoint_is_otel", False),
        ("PLAYHEAD_ENDPOINT", "None", "endpoint", None),
        ("PLAYHEAD_LOCAL_KEEP_SECONDS", "7200", "local_keep_seconds", 7_200.0),
        ("PLAYHEAD_HEADERS", "a=1", "headers", (("a", "1"),)),
        ("PLAYHEAD_PUBLIC_URL", "https://pages.example/", "public_url", "https://pages.example"),
        ("OTEL_SDK_DISABLED", "true", "disabled", True),
        ("OTEL_TRACES_EXPORTER", "otlp, console", "traces_exporter", ("otlp", "console")),
        ("OTEL_TRACES_EXPORTER", "none", "traces_exporter", ()),
        ("PLAYHEAD_API_KEY", "k", "api_key", "k"),
        ("PLAYHEAD_PROJECT", "blue", "project", "blue"),
        ("PLAYHEAD_JOURNAL_DIR", "/x", "journal_dir", Path("/x")),
        ("PLAYHEAD_DURABILITY", "fsync", "durability", "fsync"),
        ("PLAYHEAD_CAPTURE_CONTENT", "false", "capture_content", False),
        ("PLAYHEAD_CAPTURE_REASONING", "false", "capture_reasoning", False),
        ("PLAYHEAD_RECORD", "always", "record", "always"),
        ("PLAYHEAD_RECORD_COMMANDS", "true", "record_commands", True),
        ("PLAYHEAD_RECORD_TOOLS", "a.b:f, c:D.g", "record_tools", ("a.b:f", "c:D.g")),
        ("PLAYHEAD_LEASE_SECONDS", "5", "lease_seconds", 5.0),
        ("PLAYHEAD_JOURNAL_KEEP_SECONDS", "86400", "journal_keep_seconds", 86_400.0),
        ("PLAYHEAD_LINGER_SECONDS", "0.5", "linger_seconds", 0.5),
        ("PLAYHEAD_RECORD_VALUES", "uuid, clock", "record_values", ("uuid", "clock")),
        ("PLAYHEAD_MASK_KEYS", "api_key, iban", "mask_keys", ("api_key", "iban")),
        ("PLAYHEAD_MASK_KEYS", "none", "mask_keys", ()),
        ("PLAYHEAD_RESTORABLE", "shop.orders, crm", "restorable", ("shop.orders", "crm")),
        ("PLAYHEAD_CALLER_SETTINGS", "tenant, x_job", "caller_settings", ("tenant", "x_job")),
        ("PLAYHEAD_REPLAY_WAIT_SECONDS", "0", "replay_wait_seconds", 0.0),
        ("PLAYHEAD_PROMISE_KEEP_SECONDS", "60", "promise_keep_seconds", 60.0),
        ("PLAYHEAD_CONTEXT_WARN", "0.5", "context_warn", 0.5),
        ("PLAYHEAD_CONTEXT_WINDOWS", "mine=8, theirs=9", "context_windows", (("mine", 8), ("theirs", 9))),
        ("PLAYHEAD_TASK_RUN_SECONDS", "0", "task_run_seconds", 0.0),
        ("PLAYHEAD_GROUP_CALLS", "false", "group_calls", False),
        ("PLAYHEAD_INCOMING_RUNS", "link", "incoming_runs", "link"),
        ("PLAYHEAD_JOIN_SECONDS", "60", "join_seconds", 60.0),
        ("PLAYHEAD_EXIT_TIMEOUT_SECONDS", "0", "exit_timeout_seconds", 0.0),
    ],
)
def test_the_environment_is_read(variable: str, text: str, field: str, value: Any):
    assert getattr(load({variable: text}), field) == value


def test_every_setting_has_a_variable_that_the_tests_above_or_below_know():
    assert {name for line in table() for name in (line.env, line.fallback) if name} == {
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "PLAYHEAD_ENDPOINT",
        "PLAYHEAD_HEADERS",
        "OTEL_SDK_DISABLED",
        "OTEL_TRACES_EXPORTER",
        "PLAYHEAD_API_KEY",
        "PLAYHEAD_CAPTURE_CONTENT",
        "PLAYHEAD_CAPTURE_REASONING",
        "PLAYHEAD_CONTEXT_WARN",
        "PLAYHEAD_CONTEXT_WINDOWS",
        "PLAYHEAD_DURABILITY",
        "PLAYHEAD_EXIT_TIMEOUT_SECONDS",
        "PLAYHEAD_JOURNAL_DIR",
        "PLAYHEAD_JOURNAL_KEEP_SECONDS",
        "PLAYHEAD_JOURNAL_MAX_BYTES",
        "PLAYHEAD_LEASE_SECONDS",
        "PLAYHEAD_LINGER_SECONDS",
        "PLAYHEAD_LOCAL_KEEP_SECONDS",
        "PLAYHEAD_MASK_KEYS",
        "PLAYHEAD_MAX_ARRAY_BYTES",
        "PLAYHEAD_MAX_CONTENT_BYTES",
        "PLAYHEAD_MAX_VALUE_SECONDS",
        "PLAYHEAD_MAX_VALUE_SIZE",
        "PLAYHEAD_PREFER",
        "PLAYHEAD_PROJECT",
        "PLAYHEAD_PROMISE_KEEP_SECONDS",
        "PLAYHEAD_PUBLIC_URL",
        "PLAYHEAD_RECORD",
        "PLAYHEAD_RECORD_COMMANDS",
        "PLAYHEAD_RECORD_OTHERS",
        "PLAYHEAD_RECORD_TOOLS",
        "PLAYHEAD_RECORD_VALUES",
        "PLAYHEAD_RESTORABLE",
        "PLAYHEAD_CALLER_SETTINGS",
        "PLAYHEAD_REPLAY_WAIT_SECONDS",
        "PLAYHEAD_TASK_RUN_SECONDS",
        "PLAYHEAD_GROUP_CALLS",
        "PLAYHEAD_INCOMING_RUNS",
        "PLAYHEAD_JOIN_SECONDS",
    }


def test_options_win_over_the_environment():
    settings = load({"PLAYHEAD_DURABILITY": "fsync"}, durability="off", journal_dir="/y")
    assert (settings.durability, settings.journal_dir) == ("off", Path("/y"))


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PLAYHEAD_DURABILITY", "maybe"),
        ("PLAYHEAD_JOURNAL_MAX_BYTES", "lots"),
        ("PLAYHEAD_MAX_CONTENT_BYTES", "-1"),
        ("PLAYHEAD_MAX_ARRAY_BYTES", "0"),
        ("PLAYHEAD_MAX_VALUE_SECONDS", "-1"),
        ("PLAYHEAD_MAX_VALUE_SIZE", "999"),
        ("PLAYHEAD_MAX_VALUE_SIZE", "many"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "no equals sign"),
        ("PLAYHEAD_LINGER_SECONDS", "soon"),
        ("PLAYHEAD_RECORD_VALUES", "clock,weather"),
        ("PLAYHEAD_RESTORABLE", "shop.orders:Order"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_variable(variable: str, text: str):
    with pytest.raises(SettingInvalid, match=variable):
        load({variable: text})


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("PLAYHEAD_DURABILITY", "fsnc", "process"),
        ("PLAYHEAD_JOURNAL_MAX_BYTES", "lots", 512 * 2**20),
        ("PLAYHEAD_LINGER_SECONDS", "soon", 1.0),
        ("PLAYHEAD_RESTORABLE", "shop.orders:Order", ()),
        ("PLAYHEAD_CAPTURE_CONTENT", "flase", False),
        ("PLAYHEAD_CAPTURE_REASONING", "no", False),
        ("PLAYHEAD_RECORD_OTHERS", "no", False),
    ],
)
def test_a_program_that_records_is_not_stopped_by_a_misspelt_setting(variable: str, text: str, value: Any):
    said: list[str] = []
    settings = load({variable: text}, on_invalid=said.append)
    assert getattr(settings, next(line.field for line in table() if line.env == variable)) == value
    assert len(said) == 1
    assert said[0].startswith(f"{variable} cannot be '{text}': set it to ")


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("OTEL_SDK_DISABLED", "yes"),
        ("PLAYHEAD_JOURNAL_DIR", "~no-such-user-here/journal"),
        ("PLAYHEAD_ENDPOINT", "collector:4318"),
        ("PLAYHEAD_HEADERS", "no equals sign"),
        ("PLAYHEAD_API_KEY", "schlüssel"),
    ],
)
def test_nothing_is_recorded_where_it_is_not_said_whether_and_where(variable: str, text: str):
    with pytest.raises(SettingInvalid, match=variable):
        load({variable: text}, on_invalid=lambda _: None)


def test_an_option_is_refused_also_where_a_variable_would_not_be():
    with pytest.raises(SettingInvalid, match="PLAYHEAD_DURABILITY"):
        load({}, on_invalid=lambda _: None, durability="fsnc")


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PLAYHEAD_EXIT_TIMEOUT_SECONDS", "99999999999999999999999999"),  # more than a lock can wait for
        ("PLAYHEAD_JOURNAL_MAX_BYTES", "99999999999999999999999999"),
        ("PLAYHEAD_ENDPOINT", "http://:4318"),
        ("PLAYHEAD_ENDPOINT", "http://collector:99999"),
        ("PLAYHEAD_ENDPOINT", "http://collector:port"),
        ("PLAYHEAD_ENDPOINT", "http://collector one"),
        ("PLAYHEAD_ENDPOINT", "http://collector?key=1"),
        ("PLAYHEAD_JOURNAL_DIR", "~no-such-user-here/journal"),
        ("PLAYHEAD_JOURNAL_DIR", "a\0b"),
        ("PLAYHEAD_HEADERS", "two words=1"),
        ("PLAYHEAD_HEADERS", "name=ü"),
        ("PLAYHEAD_HEADERS", "name=a%0Ab"),
        ("PLAYHEAD_API_KEY", "schlüssel"),
        ("PLAYHEAD_API_KEY", "two\nlines"),
    ],
)
def test_what_would_fail_at_its_first_use_is_refused_when_it_is_read(variable: str, text: str):
    with pytest.raises(SettingInvalid, match=variable):
        load({variable: text})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("endpoint", 5),
        ("endpoint", b"http://collector"),
        ("headers", [("a", 1)]),
        ("headers", {1: "a"}),
        ("headers", 5),
        ("journal_dir", b"/x"),
        ("journal_dir", ""),
        ("durability", True),
        ("journal_max_bytes", -1),
        ("journal_max_bytes", 1.5),
        ("journal_keep_seconds", -1),
        ("journal_keep_seconds", 3_599),
        ("journal_keep_seconds", 2_592_001),
        ("linger_seconds", float("nan")),
        ("exit_timeout_seconds", float("inf")),
        ("capture_content", 1),
        ("disabled", "yes"),
        ("mask_keys", [5]),
        ("record_values", ["clokc"]),
        ("restorable", [pytest]),
        ("restorable", pytest),
    ],
)
def test_an_option_is_checked_as_its_variable_is(option: str, value: Any):
    variable = next(line.env for line in table() if line.field == option)
    with pytest.raises(SettingInvalid, match=f"{variable} cannot be"):
        load({}, **{option: value})


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("headers", {"A": "b,=%", "c": "d"}, (("a", "b,=%"), ("c", "d"))),
        ("headers", (("a", "b"),), (("a", "b"),)),
        ("headers", (), ()),
        ("journal_dir", Path("/x"), Path("/x")),
        ("capture_content", False, False),
        ("linger_seconds", 2, 2.0),
        ("journal_max_bytes", 10_000, 10_000),
        ("mask_keys", [], ()),
        ("mask_keys", ["a", "b"], ("a", "b")),
        ("record_values", "clock", ("clock",)),
        ("record_values", ("clock", "uuid"), ("clock", "uuid")),
        ("restorable", ["shop.orders", "crm"], ("shop.orders", "crm")),
    ],
)
def test_an_option_may_be_of_the_field_s_own_type(option: str, value: Any, expected: Any):
    assert getattr(load({}, **{option: value}), option) == expected


def test_a_relative_folder_is_the_one_below_the_folder_where_it_was_read(tmp_path: Path, monkeypatch: Any):
    monkeypatch.chdir(tmp_path)
    assert load({"PLAYHEAD_JOURNAL_DIR": "journal"}).journal_dir == tmp_path / "journal"


def test_a_secret_option_that_cannot_be_used_is_not_shown():
    with pytest.raises(SettingInvalid) as refused:
        load({}, headers={"x-key": b"s3cret"})
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("hook", ["mask", 5, [print]])
def test_a_hook_that_cannot_be_called_is_an_error_at_once(hook: Any):
    with pytest.raises(TypeError, match="redact"):
        playhead.configure(redact=hook)


def test_an_option_that_is_none_of_ours_is_an_error_that_lists_them():
    with pytest.raises(TypeError, match="no option journal; there are: redact, .*journal_dir"):
        playhead.configure(journal="/x")


def test_the_collector_s_own_variable_comes_before_opentelemetry_s():
    both = {"PLAYHEAD_ENDPOINT": "http://ours:1", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://theirs:2"}
    settings = load(both)
    assert (settings.endpoint, settings.endpoint_is_otel) == ("http://ours:1", False)
    lines = {line.setting.env: line.source for line in in_force({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://theirs:2"})}
    assert lines["PLAYHEAD_ENDPOINT"] == "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize("variable", ["PLAYHEAD_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"])
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs/", "/api/v1", "/"])
def test_the_path_of_a_signal_is_not_part_of_the_collector_s_address(variable: str, path: str):
    assert load({variable: f"http://c:1/prefix{path}"}).endpoint == "http://c:1/prefix"


def test_a_value_is_shown_as_it_would_be_written():
    shown = [str(line) for line in in_force({}, mask_keys=["a", "b"], headers={"x": "y"}, capture_content=False)]
    assert "PLAYHEAD_MASK_KEYS = a,b (option)" in shown
    assert "PLAYHEAD_RESTORABLE = none (default)" in shown
    assert "PLAYHEAD_CAPTURE_CONTENT = false (option)" in shown
    assert "PLAYHEAD_HEADERS = set (not shown) (option)" in shown


def test_the_key_to_opentelemetry_s_endpoint_is_sent_nowhere_else():
    theirs = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://theirs:2", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=secret"}
    assert load(theirs).headers == (("api-key", "secret"),)
    assert load(theirs | {"PLAYHEAD_ENDPOINT": "http://ours:1"}).headers == ()
    assert load(theirs, endpoint="http://ours:1").headers == ()
    assert load(theirs | {"PLAYHEAD_ENDPOINT": "http://ours:1", "PLAYHEAD_HEADERS": "x=1"}).headers == (("x", "1"),)


def test_where_values_come_from_is_told():
    lines = {line.setting.env: line for line in in_force({"PLAYHEAD_RECORD": "always"}, durability="off")}
    assert lines["PLAYHEAD_RECORD"].value == "always"
    assert lines["PLAYHEAD_DURABILITY"].value == "off"


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {}, Path.home() / ".local/state/playhead/journal"),
        ("linux", {"XDG_STATE_HOME": "/state"}, Path("/state/playhead/journal")),
        ("linux", {"XDG_STATE_HOME": "relative"}, Path.home() / ".local/state/playhead/journal"),
        ("darwin", {}, Path.home() / "Library/Application Support/playhead/journal"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/playhead/journal")),
    ],
)
def test_the_journal_stands_where_the_platform_keeps_such_things(
    platform: str, environ: dict[str, str], expected: Path
):
    assert default_journal_dir(platform, environ) == expected


def test_a_user_without_a_home_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A container runs as any number, of which the system knows no account."""
    pwd = pytest.importorskip("pwd")

    def unknown(number: int) -> object:
        raise KeyError(number)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert default_journal_dir("linux", {}) == Path("/.local/state/playhead/journal")
    assert load({"PLAYHEAD_JOURNAL_DIR": str(tmp_path)}).journal_dir == tmp_path


def test_configure_answers_with_the_settings_in_force(tmp_path: Path):
    try:
        settings = playhead.configure(journal_dir=tmp_path, durability="off")
        assert isinstance(settings, Settings)
        assert settings.durability == "off"
        assert playhead.flush(0) is True
    finally:
        assert playhead.shutdown() is True
    assert playhead.counters() == {}
