"""The files of the folder `packaging`: what they name exists. (`make packaging-checks` asks the real tools.)"""

import configparser
import json
import re
from pathlib import Path
from typing import Any

import yaml

from playhead.settings.table import table_of
from playhead_collector.serve.metrics import Metrics
from playhead_collector.settings import CollectorSettings

ROOT = Path(__file__).parents[3]
FILES = ROOT / "packaging"
SETTINGS = {line.env for line in table_of(CollectorSettings)}
S3 = ("AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SECRET_ACCESS_KEY")
METRIC = re.compile(r"playhead_[a-z_]+")


def loaded(path: str) -> Any:
    return yaml.safe_load((FILES / path).read_text(encoding="utf-8"))


def exposed() -> set[str]:
    """Names of samples that a collector can have."""
    families = list(Metrics().registry.collect())
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    return {family.name + suffix for family in families for suffix in suffixes.get(family.type, ("",))}


def test_rules_and_dashboards_ask_for_metrics_that_exist():
    rules = [rule["expr"] for group in loaded("prometheus/playhead.rules.yml")["groups"] for rule in group["rules"]]
    board = json.loads((FILES / "grafana" / "playhead.json").read_text())
    shown = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    named = {name for text in rules + shown for name in METRIC.findall(text)}
    assert len(named) > 10
    assert named - exposed() == set()


def test_every_rule_is_seen_to_fire():
    rules = [rule["alert"] for group in loaded("prometheus/playhead.rules.yml")["groups"] for rule in group["rules"]]
    fires = {
        case["alertname"]
        for test in loaded("prometheus/playhead.rules.test.yml")["tests"]
        for case in test["alert_rule_test"]
        if case.get("exp_alerts")
    }
    assert fires == set(rules)


def test_the_image_runs_as_nobody_in_particular_and_says_whether_it_is_ready():
    text = (FILES / "docker" / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", " "))]
    words = [line.split()[0] for line in lines]
    [user] = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert 0 not in map(int, user.split(":"))
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert "HEALTHCHECK" in words
    assert "/readyz" in text
    assert set(re.findall(r"PLAYHEAD_[A-Z_]+", text)) - SETTINGS == set()


def test_compose_has_no_password_and_writes_to_nothing_but_tmp():
    services = loaded("docker/compose.yaml")["services"]
    collector = services["collector"]
    assert collector["read_only"] is True
    assert collector["tmpfs"] == ["/tmp"]
    assert all(port.startswith("127.0.0.1:") for port in collector["ports"])
    others = {name for name in collector["environment"] if not name.startswith("PLAYHEAD_")}
    assert set(collector["environment"]) - SETTINGS == others
    assert {name: collector["environment"][name] for name in others} == dict.fromkeys(S3)  # from outside, if set there
    secrets = [collector["environment"]["PLAYHEAD_ADMIN_KEY"], services["postgres"]["environment"]["POSTGRES_PASSWORD"]]
    assert all(secret.startswith("${") and ":?" in secret for secret in secrets)


def test_the_folder_of_the_object_store_is_a_volume_that_the_image_s_account_may_write_to():
    collector = loaded("docker/compose.yaml")["services"]["collector"]
    assert collector["environment"]["PLAYHEAD_OBJECT_STORE"].endswith(":-file:///objects}")
    assert collector["volumes"] == ["objects:/objects"]
    text = (FILES / "docker" / "Dockerfile").read_text()
    assert "--owner=10001 --group=10001 /objects" in text
    assert re.search(r"\[collector,.*\bobjects\b.*\]", text)


def test_the_unit_has_a_user_of_its_own_and_its_settings_exist():
    unit = configparser.ConfigParser(strict=True, interpolation=None, comment_prefixes=("#",))
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] - keys of a unit have capitals
    unit.read_string((FILES / "systemd" / "playhead.service").read_text())
    service = unit["Service"]
    assert service["DynamicUser"] == "yes"
    assert service["ProtectSystem"] == "strict"
    named = {word.partition("=")[0] for word in service["Environment"].split()}
    assert {name for name in named if name.startswith("PLAYHEAD_")} - SETTINGS == set()
    assert named & SETTINGS == {"PLAYHEAD_DATA_DIR"}
