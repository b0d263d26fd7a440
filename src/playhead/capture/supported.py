"""Which version of a library is installed, and whether its capture supports it."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import Requirement


@dataclass(frozen=True, slots=True)
class InstalledVersion:
    """The installed version of a library."""

    version: str
    requirement: str
    """What the capture supports, as pip writes it."""
    is_supported: bool


def installed_version(supports: str) -> InstalledVersion | None:
    """Returns what is installed of the distribution in `supports`, such as "openai >= 1.60".

    None: it is not installed, and another module has the library's name. Raises ValueError if `supports` is not valid.
    """
    requirement = Requirement(supports)
    try:
        installed = version(requirement.name)
    except PackageNotFoundError:
        return None
    is_supported = requirement.specifier.contains(installed, prereleases=True)
    return InstalledVersion(installed, str(requirement), is_supported)
