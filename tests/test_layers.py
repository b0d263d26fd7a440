"""How the code is laid out, held by counting. (Who may import whom: `lint-imports`, contracts in pyproject.toml.)"""

import ast
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "src" / "playhead", ROOT / "collector" / "playhead_collector")
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py")) + sorted(
    (ROOT / "migrations").rglob("*.py")
)

# What the SDK and the collector share.
SHARED = tuple(f"src/playhead/{name}/" for name in ("model", "dialect", "lift", "project", "wire"))
# More files than this, and a folder wants folders inside.
FOLDER_FILES = 15

# A module has one subject, however long; beyond this, somebody has to be able to say why it reads best in one place.
MODULE_LINES = 400
FUNCTION_LINES = 40
# Modules that may be longer, each with the reason why one long page reads better there than two short ones.
ALLOWED_MODULES = {
    "src/playhead/model/event.py": "the closed union of events reads best in one place",
    "src/playhead/replay/answering.py": "one class: every way in which a call of a running program meets its record",
}
# The same for functions, as "path::name".
ALLOWED_FUNCTIONS: dict[str, str] = {
    "src/playhead/cli/rewinding.py::fork": "a command's options are its parameters, a line or more each",
    "src/playhead/cli/runs.py::runs": "the same, and each is passed on as a filter",
    "src/playhead/api/calls/span.py::__init__": "one assignment a line, and nothing else",
}
# Words that say nothing about what is inside.
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


every_module = pytest.mark.parametrize("path", MODULES, ids=name_of)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring, which is for those who call it."""
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    return (function.end_lineno or 0) - function.lineno + 1 - ((first.end_lineno or 0) - first.lineno + 1) * documented


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@every_module
def test_no_module_outgrows_a_reader(path: Path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MODULE_LINES or name_of(path) in ALLOWED_MODULES, f"{lines} lines: give its second subject a file"


@every_module
def test_no_function_outgrows_a_screen(path: Path):
    long = {
        f"{function.name} ({lines} lines)"
        for function in functions(ast.parse(path.read_bytes()))
        if (lines := length(function)) > FUNCTION_LINES and f"{name_of(path)}::{function.name}" not in ALLOWED_FUNCTIONS
    }
    assert long == set()


def test_every_exception_is_still_needed():
    def lines(path: Path) -> int:
        return len(path.read_text(encoding="utf-8").splitlines())

    assert [name for name in ALLOWED_MODULES if not (ROOT / name).exists() or lines(ROOT / name) <= MODULE_LINES] == []
    here = {f"{name_of(path)}::{f.name}" for path in MODULES for f in functions(ast.parse(path.read_bytes()))}
    assert set(ALLOWED_FUNCTIONS) - here == set()


@every_module
def test_every_module_says_where_it_stands(path: Path):
    assert ast.get_docstring(ast.parse(path.read_bytes())), "a first line that says where it stands in the flow"


@every_module
def test_no_module_has_a_name_that_says_nothing(path: Path):
    words = {word for part in path.relative_to(ROOT).with_suffix("").parts for word in part.lower().split("_")}
    assert words & EMPTY_WORDS == set()


@pytest.mark.parametrize("path", [p for p in MODULES if name_of(p).startswith(SHARED)], ids=name_of)
def test_what_both_halves_share_imports_the_standard_library_and_orjson_only(path: Path):
    roots = {name.partition(".")[0] for name in imported(ast.parse(path.read_bytes()))}
    assert roots - sys.stdlib_module_names <= {"orjson", "playhead"}


@pytest.mark.parametrize("path", [p for p in MODULES if name_of(p).startswith("src/playhead/cli")], ids=name_of)
def test_the_command_line_imports_the_collector_only_when_a_command_needs_it(path: Path):
    # Imports inside functions are late; everything else runs when the module is imported.
    tree = ast.parse(path.read_bytes())
    late = {name for function in functions(tree) for name in imported(function)}
    early = [name for name in imported(tree) if name.startswith("playhead_collector") and name not in late]
    assert early == []


def module_name(path: Path) -> str:
    [package] = [package for package in PACKAGES if path.is_relative_to(package)]
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of_module(tree: ast.AST, known: Collection[str]) -> Iterator[str]:
    """Modules that are imported at module level, also those for type checkers only.  (Functions import late.)"""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else node.module for name in names)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports_of_module(node, known)


def cycles(imports: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Each module that can be reached from itself, with the way back to it."""

    def way(start: str) -> list[str] | None:
        ways, seen = [[start]], {start}
        for path in ways:  # breadth first: the list grows while it is read
            for name in imports.get(path[-1], ()):
                if name == start:
                    return [*path, start]
                if name not in seen:
                    seen.add(name)
                    ways.append([*path, name])
        return None

    return [found for name in imports if (found := way(name)) is not None]


def test_modules_do_not_import_one_another_in_a_ring():
    paths = {module_name(path): path for package in PACKAGES for path in package.rglob("*.py")}
    imports = {
        name: {found for found in imports_of_module(ast.parse(path.read_bytes()), paths) if found in paths}
        for name, path in paths.items()
    }
    assert cycles(imports) == []


def test_a_ring_is_found_also_where_only_type_checkers_see_it():
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from b import x\ndef late():\n    import c\n"
    assert set(imports_of_module(ast.parse(source), {"b"})) == {"typing", "b"}
    assert cycles({"a": ["b"], "b": ["c", "a"], "c": []}) == [["a", "b", "a"], ["b", "a", "b"]]


def test_no_folder_has_more_files_than_a_reader_can_keep_in_mind():
    folders = {path.parent for path in MODULES} | {path.parent for path in (ROOT / "tests").rglob("*.py")}
    folders.discard(ROOT / "migrations" / "versions")  # one file per change of the schema, for ever, read by number
    crowded = {name_of(folder): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: count for name, count in crowded.items() if count > FOLDER_FILES} == {}


def test_no_two_classes_share_a_name():
    where: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name.lstrip("_"), []).append(name_of(path))
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


# Each stood for something that has a usual name: a report, a cache, a transcript, a mirror span, a retry, a call path.
RIDDLES = {"told", "shelf", "story", "twin", "patience", "squeeze", "careful"}


@every_module
def test_no_name_is_a_riddle(path: Path):
    defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, defined)]
    words = {word.lower() for name in (path.stem, *names) for word in re.findall("[A-Z]?[a-z]+", name)}
    assert words & RIDDLES == set()
