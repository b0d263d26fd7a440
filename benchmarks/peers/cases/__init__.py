"""Programs for the probe. Each raises Wrong if the program or its record is not as `expected` says."""

from benchmarks.peers.cases.async_generators import CASES as _ASYNC_GENERATORS
from benchmarks.peers.cases.calls import CASES as _CALLS
from benchmarks.peers.cases.case import Case
from benchmarks.peers.cases.concurrent import CASES as _CONCURRENT
from benchmarks.peers.cases.generators import CASES as _GENERATORS
from benchmarks.peers.cases.volume import CASES as _VOLUME

ALL: tuple[Case, ...] = (*_CALLS, *_GENERATORS, *_ASYNC_GENERATORS, *_CONCURRENT, *_VOLUME)
