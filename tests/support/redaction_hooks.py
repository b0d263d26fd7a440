"""Redaction hooks, as operators write them. Collectors of tests name them by `module:function`."""

from typing import Any


def mask_names(value: Any, project: str) -> Any:
    """Masks one name wherever it is, and fails for a text that says so."""
    if isinstance(value, str):
        if "break the hook" in value:
            raise RuntimeError(value)
        return value.replace("Zaphod", f"[a name of {project}]")
    if isinstance(value, list):
        return [mask_names(item, project) for item in value]
    if isinstance(value, dict):
        return {key: mask_names(item, project) for key, item in value.items()}
    return value
