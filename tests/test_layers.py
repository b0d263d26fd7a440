"""How the code is laid out, held by counting. (Who may import whom: `lint-imports`, contracts in pyproject.toml.)"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.import_graph import imports_of, rings, tree_of

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "src" / "playhead", ROOT / "collector" / "playhead_collector")
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py")) + sorted(
    (ROOT / "migrations").rglob("*.py")
)

# What the SDK and the collector share.
SHARED = tuple(f"src/playhead/{name}/" for name in ("model", "dialect", "lift", "projection", "wire"))
# Words that say nothing about what is inside.
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def test_every_module_says_where_it_stands():
    """In the first line of its docstring."""
    assert [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []


def test_no_module_has_a_name_that_says_nothing():
    def words(path: Path) -> set[str]:
        return {word for part in path.relative_to(ROOT).with_suffix("").parts for word in part.lower().split("_")}

    assert [name_of(path) for path in MODULES if words(path) & EMPTY_WORDS] == []


def test_what_both_halves_share_imports_the_standard_library_and_orjson_only():
    allowed = sys.stdlib_module_names | {"orjson", "playhead"}
    shared = [path for path in MODULES if name_of(path).startswith(SHARED)]
    found = {name_of(path): {name.partition(".")[0] for name in imported(tree_of(path))} - allowed for path in shared}
    assert len(shared) > 100
    assert {name: roots for name, roots in found.items() if roots} == {}


def test_no_test_imports_the_benchmarks_but_their_own_tests():
    """What both need is in tests/support."""
    tests = [path for path in (ROOT / "tests").rglob("*.py") if "node_modules" not in path.parts]
    users = {
        name_of(path)
        for path in tests
        if any(name.partition(".")[0] == "benchmarks" for name in imported(ast.parse(path.read_bytes())))
    }
    assert users
    assert {name for name in users if not name.startswith("tests/unit/benchmarks/")} == set()


def test_the_command_line_imports_the_collector_only_when_a_command_needs_it():
    # Imports inside functions are late; everything else runs when the module is imported.
    commands = [path for path in MODULES if name_of(path).startswith("src/playhead/cli")]
    early: list[tuple[str, str]] = []
    for path in commands:
        late = {name for function in functions(tree_of(path)) for name in imported(function)}
        collectors = [name for name in imported(tree_of(path)) if name.startswith("playhead_collector")]
        early += [(name_of(path), name) for name in collectors if name not in late]
    assert len(commands) > 20
    assert early == []


def test_modules_do_not_import_one_another_in_a_ring():
    """Late imports count, those for type checkers, and those by string."""
    imports = imports_of(PACKAGES)
    assert sum(map(len, imports.values())) > 1_500  # it reads the tree
    found = rings(imports)
    assert [sorted(ring) for ring in found] == []


def test_modules_of_the_web_ui_do_not_import_one_another_in_a_ring():
    sources = {path for path in (ROOT / "collector" / "ui" / "src").rglob("*") if path.suffix in {".ts", ".tsx"}}
    imports: dict[str, set[str]] = {}
    for path in sources:
        named = {path.parent / target for target in re.findall(r'from "(\.[^"]+)"', path.read_text(encoding="utf-8"))}
        files = {file.with_name(file.name + suffix).resolve() for file in named for suffix in (".ts", ".tsx")}
        imports[name_of(path)] = {name_of(file) for file in files & sources}
    assert sum(map(len, imports.values())) > 200
    assert [sorted(ring) for ring in rings(imports)] == []


def test_no_two_classes_share_a_name():
    where: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name.lstrip("_"), []).append(name_of(path))
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


# Each stood for something that has a usual name: a report, a cache, a transcript, a mirror span, a retry, a call path.
RIDDLES = {"told", "shelf", "story", "twin", "patience", "squeeze", "careful"}


def test_no_name_is_a_riddle():
    defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

    def words(path: Path) -> set[str]:
        names = [node.name for node in ast.walk(tree_of(path)) if isinstance(node, defined)]
        return {word.lower() for name in (path.stem, *names) for word in re.findall("[A-Z]?[a-z]+", name)}

    found = {name_of(path): words(path) & RIDDLES for path in MODULES}
    assert {name: riddles for name, riddles in found.items() if riddles} == {}


# Handlers of BaseException that neither raise nor stand in the guard: where they are, by function. A handler is the
# exception, for one of three reasons. Everywhere else it is a block of `guarded`.
HANDLERS_THAT_STAY = {
    # Each observed call passes through it, or each model call, and a block would take 2 % of the former; several in one
    # model call take 5 % of that.
    "src/playhead/api/observe.py": ["begin"],
    "src/playhead/calls/begin.py": ["begin"],
    "src/playhead/calls/lifecycle.py": ["_enter", "finish", "_end"],
    "src/playhead/journal/recorder.py": ["payload", "repeated", "sent_thread_refs", "_fields_json"],
    "src/playhead/refs/intake.py": ["repeated"],
    "src/playhead/refs/threads.py": ["_equal"],
    # The exception goes into a generator, which sees it.
    "src/playhead/calls/functions.py": ["iterate", "iterate_async"],
    "src/playhead/calls/steps.py": ["finished", "finished_async"],
    # The model stands below the guard. Nothing is logged there: what cannot be read is described in the record.
    "src/playhead/model/objects/error_texts.py": ["error_text"],
    "src/playhead/model/objects/plain_forms.py": ["safe_repr"],
    "src/playhead/model/objects/plain_tree.py": ["_read", "_array"],
    "src/playhead/model/objects/tree_json.py": ["quick_json"],
}


def swallowing(tree: ast.AST, inside: str = "") -> Iterator[str]:
    """The name of the innermost function around each handler of BaseException that does not end with `raise`, and
    around each `suppress(BaseException)`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ExceptHandler):
            of_all = node.type is None or "BaseException" in ast.unparse(node.type)
            if of_all and not isinstance(node.body[-1], ast.Raise):
                yield inside
        if isinstance(node, ast.Call) and {"suppress", "BaseException"} <= set(re.findall(r"\w+", ast.unparse(node))):
            yield inside
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from swallowing(node, node.name if named else inside)


def test_only_the_guard_swallows_every_exception():
    """What may fail elsewhere stands in a block of `guarded`, or its handler raises."""
    found = {name_of(path): sorted(swallowing(tree_of(path))) for path in MODULES}
    assert found.pop("src/playhead/kernel/guard.py")
    assert {name: at for name, at in found.items() if at} == {
        name: sorted(functions) for name, functions in HANDLERS_THAT_STAY.items()
    }


@pytest.mark.parametrize(
    ("code", "where"),
    [
        ("def f():\n try: g()\n except BaseException: log()", ["f"]),
        ("try: g()\nexcept: pass", [""]),
        ("def f():\n try: g()\n except (OSError, BaseException) as error: return error", ["f"]),
        ("def f():\n with contextlib.suppress(BaseException): g()", ["f"]),
        ("def f():\n try: g()\n except BaseException:\n  close()\n  raise", []),
        ("def f():\n try: g()\n except Exception: pass", []),
    ],
)
def test_what_swallows_is_found(code: str, where: list[str]):
    assert list(swallowing(ast.parse(code))) == where
