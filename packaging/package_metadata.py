"""Metadata of the wheel and the sdist that depend on where the project is published: its URLs, and the README.

A package's page has no files beside it, so links of the README that are relative to the repository must be absolute
there. `repository` in pyproject.toml (`[tool.hatch.metadata.hooks.custom]`) is the address of the repository, as on
GitHub. While it is empty, the package has no URLs, and its README names pages and no addresses.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"<picture>.*?</picture>\n*", re.DOTALL)
_IN_PICTURE = re.compile(r'(src|srcset)="(?!https?:)([^"]+)"')
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


class PackageMetadata(MetadataHookInterface):
    """Sets `urls` and `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with the table `[project]`."""
        repository = self.config["repository"].rstrip("/")
        version = f"v{metadata['version']}"
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": readme(text, repository, version)}
        metadata["urls"] = urls(repository)


def urls(repository: str) -> dict[str, str]:
    """Returns the project's URLs by their label; none for the empty address."""
    if not repository:
        return {}
    pages = {"Documentation": "tree/main/docs", "Changelog": "blob/main/CHANGELOG.md", "Issues": "issues"}
    return {"Repository": repository, **{label: f"{repository}/{path}" for label, path in pages.items()}}


def readme(text: str, repository: str, version: str) -> str:
    """Returns the README with absolute links to the files of that version; without an address, with neither the picture
    nor relative links."""
    if not repository:
        return _LINK.sub(r"\1", _PICTURE.sub("", text))
    raw = _IN_PICTURE.sub(rf'\1="{repository}/raw/{version}/\2"', text)
    return _LINK.sub(rf"[\1]({repository}/blob/{version}/\2)", raw)
