"""Renders the tables of folders in docs/architecture.md from docstrings; `tests/test_docs.py` holds them current."""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"playhead": ROOT / "src" / "playhead", "playhead_collector": ROOT / "collector" / "playhead_collector"}
# Parts of `playhead` that the collector imports, too; the contracts in pyproject.toml say so in words.
SHARED = frozenset({"outbound", "lift", "projection", "dialect", "wire", "model"})

# A docstring may begin with its place in the flow of data: "receive → [lift] → store.", or "[serve]:".
_PLACE = re.compile(r"^(?:[^.:]*→[^.:]*[.:]|\[[\w, ]+\]:)\s+")
_SENTENCE_END = re.compile(r"(?<=[.?])\s")


def with_tables(page: str) -> str:
    """The page, with each table between its two comments written anew. Raises KeyError for a table of another name."""
    tables = {
        "shared": table("playhead", lambda name: name in SHARED),
        "SDK": table("playhead", lambda name: name not in SHARED),
        "collector": table("playhead_collector", lambda name: True),
    }
    block = re.compile(r"(<!-- folders: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return block.sub(lambda found: f"{found[1]}{tables[found[2]]}{found[3]}", page)


def table(package: str, is_shown: Callable[[str], bool]) -> str:
    """The parts of a package and the folders in them: name, and the first sentence of the docstring."""
    lines = ["| folder or file | holds |", "|---|---|"]
    for part in parts(package):
        if is_shown(part.name.removesuffix(".py")):
            lines += [f"| `{name}` | {first_sentence(module)} |" for name, module in rows(PACKAGES[package], part)]
    return "\n".join(lines) + "\n"


def parts(package: str) -> list[Path]:
    """Folders and modules at the top of a package, in the order of its levels in pyproject.toml, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = (each["layers"] for each in contracts if each.get("containers") == [package])
    names = [name for layer in layers for name in re.findall(r"\w+", layer)]
    found = [PACKAGES[package] / name for name in names]
    return [path if path.is_dir() else path.with_suffix(".py") for path in found]


def rows(package: Path, part: Path) -> Iterator[tuple[str, Path]]:
    """The name in the table, and the module with the docstring, of a part and of the packages in it."""
    if not part.is_dir():
        yield part.name, part
        return
    for module in sorted(part.rglob("__init__.py"), key=lambda path: path.parts):
        yield module.parent.relative_to(package).as_posix(), module


def first_sentence(module: Path) -> str:
    """The first sentence of a docstring behind its place in the flow of data. A question keeps its mark."""
    docstring = " ".join((ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or "").split())
    text = _PLACE.sub("", docstring)
    sentence = _SENTENCE_END.split(text, maxsplit=1)[0].rstrip(".")
    if text != docstring:
        sentence = sentence[:1].upper() + sentence[1:]
    return sentence.replace("|", "\\|")
