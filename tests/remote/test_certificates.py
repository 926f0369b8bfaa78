"""Certificates that the environment names are trusted over HTTP and by S3."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import TlsFailed
from shardcore.sources.remote.options import RemoteOptions
from tests.remote.tls import TlsServer, TlsStore, certificate

SWH = Path(__file__).parents[1] / "data" / "swh" / "small.shard"
QUICK = RemoteOptions(retries=0, connect_timeout=2.0)


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_each_variable_serves_both_transports(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = certificate(tmp_path)
    with TlsServer(made) as web, TlsStore(made) as store:
        address = web.put("/small.shard", SWH)
        store.put("/bucket/small.shard", SWH)
        options = RemoteOptions(endpoint_url=store.url, anonymous=True, addressing="path", retries=0)
        for where, reached in ((address, QUICK), ("s3://bucket/small.shard", options)):
            with pytest.raises(TlsFailed, match="TLS verification") as caught:
                shardcore.open(where, remote=reached)
            assert "SSL_CERT_FILE or AWS_CA_BUNDLE" in str(caught.value)
        monkeypatch.setenv(variable, str(made))
        for where, reached in ((address, QUICK), ("s3://bucket/small.shard", options)):
            with shardcore.open(where, remote=reached) as shard:
                assert shard.format == "swh"


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "SSL_CERT_FILE"])
@pytest.mark.parametrize("where", ["https://127.0.0.1:9/a", "s3://bucket/a"])
def test_a_file_without_certificates_is_named(
    variable: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "none.pem"))
    assert run(["info", where, "--no-sign-request"]) == 4
    assert f"{variable} names" in capsys.readouterr().err
