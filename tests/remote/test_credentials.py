"""Credentials, regions and endpoints come from where a session of boto3 finds them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shardcore.errors import CredentialsRefused
from shardcore.sources.location import source_of
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.s3 import profiles, store_of
from tests.remote.servers import StoreServer
from tests.remote.serving import Answer, HttpServer

KEYS = {"AccessKeyId": "AKIAFOUND", "SecretAccessKey": "secret", "Expiration": "2100-01-01T00:00:00Z"}
Write, Patch = Callable[[str], None], pytest.MonkeyPatch
ASSUMED = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>AKIAFOUND</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken>
<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


@pytest.fixture
def store() -> Iterator[StoreServer]:
    with StoreServer({"/shards/a": b"0123456789"}) as server:
        yield server


@pytest.fixture
def tokens() -> Iterator[HttpServer]:
    container = json.dumps(KEYS | {"Token": "token"}).encode()
    with HttpServer(lambda one: Answer(body=ASSUMED.encode() if one.method == "POST" else container)) as server:
        yield server


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: Patch, store: StoreServer) -> Write:
    def write(text: str) -> None:
        head = f"[profile lab]\nendpoint_url = {store.url}\nregion = eu-north-1\ns3 =\n  addressing_style = path\n"
        (tmp_path / "config").write_text(head + text)
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))

    return write


def signed(store: StoreServer, options: RemoteOptions) -> str:
    source = source_of("s3://shards/a", remote=options)
    with source:
        assert source.read(0, 10) == b"0123456789"
    return next(iter(store.log)).request.headers.get("authorization", "")


@pytest.mark.parametrize("named", ["option", "environment"])
@pytest.mark.parametrize("how", ["keys", "process", "role", "container"])
def test_a_profile(
    configured: Write, store: StoreServer, tokens: HttpServer, monkeypatch: Patch, tmp_path: Path, how: str, named: str
) -> None:
    (tmp_path / "keys.json").write_text(json.dumps(KEYS | {"Version": 1, "SessionToken": "token"}))
    keys = "aws_access_key_id = AKIAFOUND\naws_secret_access_key = secret\n"
    process = f"credential_process = {sys.executable} -c \"print(open('{tmp_path / 'keys.json'}').read())\"\n"
    role = "role_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = base\n[profile base]\n"
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", tokens.url)
    if how == "container":
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{tokens.url}/keys")
    configured({"keys": keys, "process": process, "role": role + keys, "container": ""}[how])
    options = RemoteOptions(profile="lab") if named == "option" else RemoteOptions()
    if named == "environment":
        monkeypatch.setenv("AWS_PROFILE", "lab")
    assert store_of(options) == store.url
    found = signed(store, options)
    assert "Credential=AKIAFOUND/" in found
    assert "/eu-north-1/s3/" in found
    assert len(tokens.log) == (how in ("role", "container"))
    assert profiles() == (["base", "lab"] if how == "role" else ["lab"])


def test_options_come_before_the_configuration(configured: Write, store: StoreServer) -> None:
    configured("aws_access_key_id = AKIAFOUND\naws_secret_access_key = secret\n")
    assert "/us-west-2/s3/" in signed(store, RemoteOptions(profile="lab", region="us-west-2"))
    with pytest.raises(CredentialsRefused, match="no profile"):
        source_of("s3://shards/a", remote=RemoteOptions(profile="nobody"))
