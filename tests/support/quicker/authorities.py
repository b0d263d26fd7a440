"""The certificates of the authorities that TLS trusts.

Each client of HTTP reads them when it is made, which takes 20 ms of the processor, in these tests and
in each program that they start. Nobody is asked over TLS here, except where packages are installed.
"""

import os
from collections.abc import Mapping
from pathlib import Path

_FILE, _OF_THE_MACHINE = "SSL_CERT_FILE", "SSL_CERT_FILE_OF_THE_MACHINE"
_NONE = str(Path(__file__).parents[2] / "fixtures" / "no_authority.pem")


def without_authorities() -> None:
    """From now on this process, and those that it starts, trust one authority that signs nothing."""
    given = os.environ.get(_FILE)
    if given != _NONE:  # the processes of xdist inherit what the first one has set
        os.environ[_OF_THE_MACHINE] = given or ""
        os.environ[_FILE] = _NONE


def with_authorities(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with the machine's own setting: for programs that ask a package index."""
    given = environ.get(_OF_THE_MACHINE, "")
    kept = {name: value for name, value in environ.items() if name not in (_FILE, _OF_THE_MACHINE)}
    return {**kept, _FILE: given} if given else kept
