"""A package that brings a capture, made where it is not installed: its metadata in a folder of the import path."""

import tomllib
from pathlib import Path

from playhead.capture.entry_points import GROUP


def write_metadata(folder: Path, name: str, captures: dict[str, str], group: str = GROUP) -> Path:
    """Writes what an installer writes of a distribution with these captures (library → module), or other entry points
    of a `group`. Returns the folder to put on the import path."""
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{library} = {module}" for library, module in captures.items()]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
    return folder


def import_path_of(project: Path, folder: Path) -> list[str]:
    """Returns the folders to put on the import path for this project, as if it was installed."""
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    metadata = write_metadata(folder, described["name"], described["entry-points"][GROUP])
    return [str(project / "src"), str(metadata)]
