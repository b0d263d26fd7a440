"""Programs for the probe. Each raises Wrong if the program or its record is not as `expected` says."""

from tests.peers.cases.async_generators import CASES as _ASYNC_GENERATORS
from tests.peers.cases.calls import CASES as _CALLS
from tests.peers.cases.case import Case
from tests.peers.cases.concurrent import CASES as _CONCURRENT
from tests.peers.cases.generators import CASES as _GENERATORS
from tests.peers.cases.volume import CASES as _VOLUME

ALL: tuple[Case, ...] = (*_CALLS, *_GENERATORS, *_ASYNC_GENERATORS, *_CONCURRENT, *_VOLUME)
