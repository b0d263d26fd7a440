"""boto3's client for models on Bedrock, against the mock model server."""

from typing import Any

import boto3
from botocore.config import Config

from playhead.testing import MockModelServer


def bedrock_client(server: MockModelServer, *, retries: int = 0, service: str = "bedrock-runtime") -> Any:
    """A client with credentials that are none."""
    config = Config(retries={"max_attempts": retries, "mode": "standard"}, proxies={})
    make: Any = boto3.client
    return make(
        service,
        region_name="us-east-1",
        endpoint_url=server.url,
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="none",
        config=config,
    )
