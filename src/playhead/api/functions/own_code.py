"""Which files are the program's own code, and which are a library's."""

import site
import sysconfig
from pathlib import Path

_files: dict[str, bool] = {}
_OTHERS = tuple(
    str(Path(path).resolve())
    for path in (
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
        Path(__file__).parents[2],  # our own package
    )
)


def is_own_code(file: str) -> bool:
    """Whether code of this file is the program's own: no library's, and not Python's."""
    known = _files.get(file)
    if known is None:
        where = str(Path(file).resolve()) if not file.startswith("<") else file
        is_library = where.startswith(("<frozen", *_OTHERS)) or "site-packages" in where or "dist-packages" in where
        known = _files[file] = not is_library
    return known
