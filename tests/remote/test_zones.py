"""A zones file over several buckets: what a uid costs, and where its requests go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from tests.remote.s3 import Place
from tests.shardcore.formats.des.made import Stored, shard


@pytest.mark.thorough
def test_a_uid_costs_its_own_zone_only(
    s3: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A uid with its date goes to the bucket of its zone, which is not listed; copies lie at its root."""
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    client = s3.client()
    for bucket in ("zone-low", "zone-high"):
        client.create_bucket(Bucket=bucket)
    objects = {
        ("zone-low", "archive/des/20261103_2A_0000.des"): shard([Stored(b"42", b"low")]),
        ("zone-high", "20261103_C8_0000.des"): shard([Stored(b"200", b"first")]),
        ("zone-high", "20261103_C8_0001.des"): shard([Stored(b"456", b"second")]),
        ("zone-high", "20261104_C8_0000.des"): shard([Stored(b"200", b"later")]),
        ("zone-low", "_ext_retention/20261103/42_2026-11-03T08:00:00Z.dat"): b"kept",
        ("zone-low", "archive/_ext_retention/20261103/42_2026-11-03T09:00:00Z.dat"): b"not looked for",
    }
    for (bucket, key), data in objects.items():
        client.put_object(Bucket=bucket, Key=key, Body=data)
    client.close()
    with s3.counted() as proxy:
        store = {"region_name": "us-east-1", "endpoint_url": f"http://{proxy.host}"}
        zones = [
            {"name": "low", "range": {"start": 0, "end": 127}, "s3": {"bucket": "zone-low", "prefix": "archive/des"}},
            {"name": "high", "range": {"start": 128, "end": 255}, "s3": {"bucket": "zone-high"}},
        ]
        for zone in zones:
            zone["s3"].update(store)  # type: ignore[attr-defined]
        path = tmp_path / "zones.json"
        path.write_text(json.dumps({"n_bits": 8, "zones": zones}))

        assert run(["get", str(path), "456", "--date", "2026-11-03", "--yes"]) == 0
        assert capsys.readouterr().out == "second"
        asked = [one.request.path.partition("?")[0] for one in proxy.log]
        assert not [one for one in asked if "zone-low" in one]
        assert len(asked) <= 8, asked

        with shardcore.open(
            path, remote=shardcore.RemoteOptions(trusted=frozenset([f"http://{proxy.host}"]))
        ) as opened:
            assert opened.jobs > 1
            assert [opened.read(ref) for ref in opened.find_all("42")] == [b"low", b"kept"]
            assert [opened.read(ref) for ref in opened.find_all("200")] == [b"first", b"later"]
            assert opened.objects.keys[:] == ["200", "456", "200", "42"]
            assert opened.tape is not None
            assert opened.tape.requests
        capsys.readouterr()
        assert run(["ls", str(path), "--json", "--tape", str(tmp_path / "log"), "-y"]) == 0
        told = capsys.readouterr()
        assert [json.loads(line)["shard"] for line in told.out.splitlines()][-1] == "low/20261103_2A_0000.des"
        assert " requests" in told.err

        # What routes a key may lie in a store, too; and a folder that has a zones file alone stands for it.
        s3.put({"where/zones.json": path.read_bytes()})
        flags = ["--endpoint-url", s3.endpoint, "--addressing", "path"]
        routed = ["-O", "date=2026-11-03", "-O", "zones=s3://shards/where/zones.json"]
        assert run(["locate", "des", "200", *routed, "--json", *flags]) == 0
        assert json.loads(capsys.readouterr().out)["uri"] == "s3://zone-high/"
        assert run(["get", "s3://shards/where/", "200", *flags]) == 0
        assert capsys.readouterr().out == "first"
        assert run(["get", str(tmp_path), "200", "--date", "2026-11-03", "--zones", str(path)]) == 0
        assert capsys.readouterr().out == "first"

        # A zones file in a bucket, with flags that count more than what it says.
        s3.put({"zones.json": path.read_bytes().replace(proxy.host.encode(), b"nowhere.invalid")})
        flags = ["--endpoint-url", s3.endpoint, "--addressing", "path"]
        assert run(["get", "s3://shards/zones.json", "200", "42", *flags]) == 0
        assert capsys.readouterr().out == "firstlow"
        assert run(["info", "s3://shards/zones.json", "--json", *flags]) == 0
        assert json.loads(capsys.readouterr().out)["fields"]["dataset.members"] == 4
