"""An S3 server on this machine: moto over real HTTP, with a proxy before it that counts."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.remote.faults import FaultProxy

REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket of the S3 server.

    Attributes:
        endpoint: The server itself, which counts nothing.
        host: Its address and port.
        bucket: The name of the bucket.
        key: The access key, made for this run.
        secret: The secret key, made for this run.
    """

    endpoint: str
    host: str
    bucket: str
    key: str
    secret: str

    def client(self) -> Any:
        """A client of boto3; close it."""
        import boto3
        from botocore.config import Config

        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1, "mode": "standard"}),
        )

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Stores objects by key."""
        client = self.client()
        try:
            for key, data in objects.items():
                client.put_object(Bucket=self.bucket, Key=key, Body=data)
        finally:
            client.close()

    def counted(self) -> FaultProxy:
        """A proxy before the server: `FaultProxy.log` counts, and its `faults` may be set."""
        return FaultProxy(self.host)

    def uri(self, key: str) -> str:
        """The address of an object."""
        return f"s3://{self.bucket}/{quote(key)}"

    def environment(self) -> dict[str, str]:
        """The variables by which AWS's libraries find the credentials."""
        return {"AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret, "AWS_DEFAULT_REGION": REGION}


@contextmanager
def s3_server(bucket: str = "shards") -> Iterator[Place]:
    """Runs moto's server with one bucket."""
    from moto.server import ThreadedMotoServer

    # A line on standard error for each request, else.
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host = "{}:{}".format(*server.get_host_and_port())
        place = Place(f"http://{host}", host, bucket, "AKIA" + secrets.token_hex(8).upper(), secrets.token_urlsafe(30))
        client = place.client()
        client.create_bucket(Bucket=bucket)
        client.close()
        yield place
    finally:
        server.stop()
