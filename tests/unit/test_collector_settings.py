import dataclasses
from pathlib import Path

import pytest

from playhead_collector import settings
from playhead_collector.errors import BadSetting

KIB, MIB = 2**10, 2**20


def test_without_an_environment_every_setting_has_its_default():
    found = settings.load({})
    assert (found.database_url, found.host, found.port) == (None, "127.0.0.1", 4318)
    assert found.max_request_bytes == found.max_content_bytes == 64 * MIB


@pytest.mark.parametrize(("text", "port"), [("", 4317), ("0", 0), ("5317", 5317), ("off", None), ("OFF", None)])
def test_the_port_for_grpc_may_be_off(text: str, port: int | None):
    assert settings.load({"PLAYHEAD_GRPC_PORT": text}).grpc_port == port


def test_the_environment_wins_over_the_default_and_an_option_over_both():
    environ = {"PLAYHEAD_PORT": "5000", "PLAYHEAD_HOST": "0.0.0.0"}
    found = settings.load(environ, port=6000)
    assert (found.host, found.port) == ("0.0.0.0", 6000)


def test_an_option_that_was_not_given_changes_nothing():
    assert settings.load({"PLAYHEAD_PORT": "5000"}, port=None).port == 5000


def test_an_empty_variable_is_an_unset_one():
    assert settings.load({"PLAYHEAD_PORT": "", "PLAYHEAD_DATABASE_URL": " "}) == settings.load({})


@pytest.mark.parametrize(
    ("text", "size"),
    [("500000", 500_000), ("512 KiB", 512 * KIB), ("64MiB", 64 * MIB), ("64m", 64 * MIB), ("1 GiB", 1024 * MIB)],
)
def test_sizes_may_have_units(text: str, size: int):
    assert settings.load({"PLAYHEAD_MAX_CONTENT_BYTES": text}).max_content_bytes == size


def test_a_home_directory_may_be_written_short():
    assert settings.load({"PLAYHEAD_DATA_DIR": "~/recordings"}).data_dir == Path.home() / "recordings"


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ("PLAYHEAD_PORT", "http"),
        ("PLAYHEAD_PORT", "70000"),
        ("PLAYHEAD_PORT", "-1"),
        ("PLAYHEAD_GRPC_PORT", "on"),
        ("PLAYHEAD_POOL_SIZE", "0"),
        ("PLAYHEAD_POOL_SIZE", "many"),
        ("PLAYHEAD_MAX_REQUEST_BYTES", "64 MiBs"),
        ("PLAYHEAD_MAX_REQUEST_BYTES", "0"),
        ("PLAYHEAD_MAX_REQUEST_BYTES", "MiB"),
        ("PLAYHEAD_MAX_REQUEST_BYTES", "1 KM"),
        ("PLAYHEAD_SEAL_AFTER_SECONDS", "-1"),
        ("PLAYHEAD_SEAL_AFTER_SECONDS", "nan"),
        ("PLAYHEAD_SEAL_AFTER_SECONDS", "inf"),
        ("PLAYHEAD_REASONING_TAG", "<reasoning>"),
        ("PLAYHEAD_REASONING_TAG", "two words"),
        ("PLAYHEAD_EXPLAIN_URL", "localhost:11434"),
        ("PLAYHEAD_LOG_FORMAT", "xml"),
        ("PLAYHEAD_LOG_LEVEL", "loud"),
        ("PLAYHEAD_DATABASE_URL", "mysql://localhost/x"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_in_one_sentence(env: str, text: str):
    with pytest.raises(BadSetting) as refused:
        settings.load({env: text})
    sentence = str(refused.value)
    [line] = [line for line in settings.table() if line.env == env]
    assert env in sentence
    assert repr(text) in sentence
    assert line.kind.accepts in sentence
    assert "\n" not in sentence


def test_a_bad_option_is_named_as_a_bad_variable_is():
    with pytest.raises(BadSetting, match="PLAYHEAD_PORT cannot be 'x'"):
        settings.load({}, port="x")


def test_the_table_has_a_line_for_every_field_but_destinations_which_have_their_own():
    fields = [f.name for f in dataclasses.fields(settings.CollectorSettings) if f.name != "destinations"]
    assert [line.field for line in settings.table()] == fields
    for line in settings.table():
        assert line.env == f"PLAYHEAD_{line.field.upper()}"
        assert line.help
        assert "\n" not in line.help


def test_it_is_told_where_each_value_comes_from():
    found = settings.in_force({"PLAYHEAD_PORT": "5000"}, host="::1")
    assert {line.setting.field: line.source for line in found if line.source != "default"} == {
        "port": "environment",
        "host": "option",
    }


def test_secrets_are_not_shown():
    environ = {
        "PLAYHEAD_ADMIN_KEY": "s3cret",
        "PLAYHEAD_DATABASE_URL": "postgresql://me:s3cret@db:5432/runs?sslmode=require",
    }
    shown = "\n".join(map(str, settings.in_force(environ)))
    assert "s3cret" not in shown
    assert "postgresql://me:***@db:5432/runs?sslmode=require" in shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+asyncpg://me:s3cret@db/runs",
        "mysql://me:a/s3cret#?@db/runs",
        "postgresql://[me:s3cret@db/runs",
        "postgres+x://db/runs?user=me&password=s3cret",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str):
    with pytest.raises(BadSetting, match="PLAYHEAD_DATABASE_URL cannot be") as refused:
        settings.load({"PLAYHEAD_DATABASE_URL": url})
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, Path("/data/playhead")),
        ("linux", {"XDG_DATA_HOME": "relative"}, Path.home() / ".local/share/playhead"),
        ("linux", {}, Path.home() / ".local/share/playhead"),
        ("darwin", {}, Path.home() / "Library/Application Support/playhead"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/playhead")),
    ],
)
def test_data_goes_where_the_platform_keeps_it(platform: str, environ: dict[str, str], folder: Path):
    assert settings.default_data_dir(platform, environ, as_root=False) == folder
    assert settings.default_data_dir("linux", {}, as_root=True) == Path("/var/lib/playhead")


def test_a_user_without_a_home_has_data_below_the_root(monkeypatch: pytest.MonkeyPatch):
    """A container runs as any number, of which the system knows no account."""
    pwd = pytest.importorskip("pwd")

    def unknown(number: int) -> object:
        raise KeyError(number)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert settings.default_data_dir("linux", {}, as_root=False) == Path("/.local/share/playhead")


def test_a_file_in_a_home_that_is_not_there_is_refused():
    with pytest.raises(BadSetting, match="PLAYHEAD_PRICES cannot be .*the path of a file"):
        settings.load({"PLAYHEAD_PRICES": "~nobody-has-this-name/prices.json"})
