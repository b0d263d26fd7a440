"""The README and the URLs of a package: relative links become absolute, or go."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
REPOSITORY = "https://code.example/team/playhead"


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("package_metadata", ROOT / "packaging" / "package_metadata.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def text() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_link_of_the_readme_becomes_an_absolute_one(hook: ModuleType, text: str):
    shown = hook.readme(text, REPOSITORY, "v1.2.3")
    assert f'src="{REPOSITORY}/raw/v1.2.3/docs/pictures/run-light-1440.png"' in shown
    assert f'srcset="{REPOSITORY}/raw/v1.2.3/docs/pictures/run-dark-1440.png"' in shown
    assert f"]({REPOSITORY}/blob/v1.2.3/docs/testing.md)" in shown
    targets = re.findall(r"\]\(([^)]+)\)", shown) + re.findall(r'(?:src|srcset)="([^"]+)"', shown)
    assert len(targets) > 30
    assert {target for target in targets if not target.startswith("https://")} == set()


def test_without_an_address_there_is_neither_a_link_nor_a_picture(hook: ModuleType, text: str):
    shown = hook.readme(text, "", "v1.2.3")
    assert "<picture>" not in shown
    assert re.findall(r"\]\((?!https?:)", shown) == []
    assert "docs/testing.md" in shown  # still named
    assert hook.urls("") == {}


def test_links_elsewhere_stay(hook: ModuleType):
    text = "[a](https://a.example) [b](#part) [c](docs/c.md#part)"
    assert hook.readme(text, REPOSITORY, "v1") == (
        f"[a](https://a.example) [b](#part) [c]({REPOSITORY}/blob/v1/docs/c.md#part)"
    )


def test_the_urls_are_those_of_the_repository(hook: ModuleType):
    assert hook.urls(REPOSITORY) == {
        "Repository": REPOSITORY,
        "Documentation": f"{REPOSITORY}/tree/main/docs",
        "Changelog": f"{REPOSITORY}/blob/main/CHANGELOG.md",
        "Issues": f"{REPOSITORY}/issues",
    }
