"""Which module imports which, read from the source, and the rings among them.

Counted are all imports: at module level, inside functions, for type checkers only, and by string (`import_module`).
An import of a module also runs the packages around it; that is not counted, because a package that looks its names up
late would then be in a ring with everything.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path

# Functions that import what a string names.
_BY_STRING = {"import_module", "__import__"}


@cache
def tree_of(path: Path) -> ast.Module:
    """The module's syntax tree."""
    return ast.parse(path.read_bytes())


def modules_of(package: Path) -> dict[str, Path]:
    """The modules of a package, from their dotted names to their files."""
    return {_dotted(path.relative_to(package.parent)): path for path in sorted(package.rglob("*.py"))}


def imports_of(packages: Iterable[Path]) -> dict[str, set[str]]:
    """What each module of these packages imports of them."""
    paths = dict(chain.from_iterable(modules_of(package).items() for package in packages))
    return {
        name: {
            target
            for target in imported(tree_of(path), paths, name, is_package=path.name == "__init__.py")
            if target in paths and target != name
        }
        for name, path in paths.items()
    }


def imported(tree: ast.AST, known: Collection[str], module: str, *, is_package: bool = False) -> Iterator[str]:
    """Dotted names of what a module imports. `known`: names of modules, which tell a module from a name in a module."""
    by_string = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, module, is_package=is_package)
            names = [f"{origin}.{alias.name}" for alias in node.names]
            yield from (name if name in known else origin for name in names)
        elif isinstance(node, ast.Name | ast.Attribute):
            by_string = by_string or (node.id if isinstance(node, ast.Name) else node.attr) in _BY_STRING
    if by_string:
        yield from _named_in_strings(tree, known, module)


def rings(imports: Mapping[str, Collection[str]]) -> set[frozenset[str]]:
    """Sets of modules in which each can be reached from each: the strongly connected parts (Tarjan's algorithm)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    parts: list[frozenset[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for target in imports.get(name, ()):
            if target not in numbers:
                visit(target)
                lowest[name] = min(lowest[name], lowest[target])
            elif target in stack:
                lowest[name] = min(lowest[name], numbers[target])
        if lowest[name] == numbers[name]:
            start = stack.index(name)
            parts.append(frozenset(stack[start:]))
            del stack[start:]

    for name in imports:
        if name not in numbers:
            visit(name)
    return {part for part in parts if len(part) > 1}


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _origin(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    """The dotted name behind `from`, also of a relative import."""
    if not node.level:
        return node.module or ""
    parts = module.split(".") if is_package else module.split(".")[:-1]
    around = parts[: len(parts) - node.level + 1]
    return ".".join([*around, *([node.module] if node.module else [])])


def _named_in_strings(tree: ast.AST, known: Collection[str], module: str) -> Iterator[str]:
    """Modules that the strings of a module name: in full, or behind a package's name that a string begins with
    (`import_module(f"package.{name}")`). Where none of the module's strings is such a name, whatever stands directly in
    that package may be meant.
    """
    constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is str}
    # The name of a package alone is mostly something else: of the distribution, or of a logger.
    yield from (text for text in constants if text in known and "." in text)
    for package in {text.rstrip(".") for text in _beginnings(tree, module) if text.endswith(".")}:
        if package in known:
            named = {name for text in constants if (name := f"{package}.{text}") in known}
            yield from named or (name for name in known if name.rpartition(".")[0] == package)


def _beginnings(tree: ast.AST, module: str) -> Iterator[str]:
    """The constant beginnings of f-strings; `__name__` is known."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = ""
            for part in node.values:
                if isinstance(part, ast.Constant):
                    text += str(part.value)
                elif isinstance(part, ast.FormattedValue) and ast.unparse(part.value) == "__name__":
                    text += module
                else:
                    break
            if text != "" and len(node.values) > 1:
                yield text
