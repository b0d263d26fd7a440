"""A collector with two projects for measuring, each with a key."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from playhead.client import Client
from playhead_collector.process import CollectorProcess

_OPERATOR = "the operator of the benchmark"
_ENV = {"PLAYHEAD_SEAL_AFTER_SECONDS": "1", "PLAYHEAD_ADMIN_KEY": _OPERATOR, "PLAYHEAD_LOG_LEVEL": "warning"}


@dataclass(frozen=True, slots=True)
class Tenants:
    """A running collector, and the key of each project."""

    process: CollectorProcess
    keys: Mapping[str, str]

    @property
    def url(self) -> str:
        """Its address."""
        return self.process.url

    def headers(self, project: str) -> dict[str, str]:
        """Headers with the key of a project."""
        return {"authorization": f"Bearer {self.keys[project]}"}

    def http(self, project: str) -> httpx.Client:
        """An HTTP client with the key of a project."""
        return httpx.Client(base_url=self.url, headers=self.headers(project), timeout=120, trust_env=False)


@contextmanager
def tenants(*projects: str) -> Generator[Tenants]:
    """A collector with these projects on an embedded Postgres of its own; gone afterwards."""
    with CollectorProcess(env=_ENV) as process:
        keys: dict[str, str] = {}
        with Client(process.url, _OPERATOR) as client:
            for name in projects:
                client.create_project(name)
        for name in projects:
            with Client(process.url, _OPERATOR, project=name) as client:
                keys[name] = client.create_key(name, ["ingest", "read"])["key"]
        yield Tenants(process, keys)
