"""Every fault, over HTTP and S3, at formats in turn: the right bytes or the right error, soon, and nothing left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from shardcore import errors
from shardcore.sources.remote.file import ENOUGH, ENOUGH_SHARE
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import RequestLog
from shardcore.testing import FULL, sampled
from tests.remote.client import nothing_left
from tests.remote.faults import (
    Cut,
    Drop,
    Endless,
    Fault,
    FaultProxy,
    Late,
    Mute,
    NoLabel,
    OtherRegion,
    OtherTag,
    Refuse,
    Short,
    Stall,
    Whole,
    WrongRange,
    after,
    again,
    burst,
    seeded,
)
from tests.remote.samples import ACTIONS, Sample, samples
from tests.remote.servers import RangeServer, StoreServer

RETRIES = 3
STALL, NO_STALL = 0.3, 10.0
"""Seconds without a byte after which a request is given up: where that is the trouble, and where a machine is busy."""

PATIENCE = 600.0
"""Seconds: more than any test takes, so that attempts are what ends trouble, on however slow a machine."""

RIGHT = "right"


@dataclass(frozen=True, eq=False)
class Trouble:
    """Something that goes wrong, and what may come of it.

    Attributes:
        name: What tests call it.
        faults: Happen in the proxy.
        outcomes: `RIGHT`, and the errors that may be raised; where no fault struck, only `RIGHT` will do.
        manners: How the server behaves.
        over: The transports with which it is tried.
    """

    name: str
    faults: Callable[[], list[Fault]] = list
    outcomes: tuple[object, ...] = (RIGHT,)
    manners: dict[str, Any] = field(default_factory=dict)
    over: tuple[str, ...] = ("http",)

    @property
    def stalls(self) -> bool:
        return any(isinstance(fault, (Stall, Mute, Endless)) for fault in self.faults())


def _both(name: str, fault: Callable[[], Fault], *outcomes: object, over: tuple[str, ...] = ("http",)) -> Trouble:
    return Trouble(name, lambda: [fault()], outcomes or (RIGHT,), over=over)


EVERYWHERE = ("http", "s3")

TROUBLES = [
    Trouble("none", over=EVERYWHERE),
    # What passes is asked again: always the right bytes.
    _both("late", lambda: Late(0.05)),
    _both("drops 20 %", lambda: Drop(when=seeded(0.2))),
    _both("first dropped", lambda: Drop(when=burst(0, 1)), over=EVERYWHERE),
    _both("second dropped", lambda: Drop(when=burst(1, 2))),
    _both("cut twice", lambda: Cut(when=burst(0, 2)), over=EVERYWHERE),
    _both("cut midway", lambda: Cut(0.9, when=burst(1, 2))),
    _both("short once", lambda: Short(when=burst(1, 1))),
    _both("stalls once", lambda: Stall(when=burst(0, 1)), over=EVERYWHERE),
    _both("stalls midway", lambda: Stall(0.3, when=burst(2, 1))),
    _both("mute once", lambda: Mute(when=burst(1, 1))),
    _both("503 burst", lambda: Refuse("SlowDown", when=burst(0, 2)), over=EVERYWHERE),
    _both("503 midway", lambda: Refuse("ServiceUnavailable", when=burst(1, 2))),
    _both("500 burst", lambda: Refuse("InternalError", when=burst(1, 2)), over=EVERYWHERE),
    # What stays is an error, and soon.
    _both("gone", Drop, errors.ConnectionFailed, over=EVERYWHERE),
    _both("gone midway", lambda: Drop(when=after(1)), errors.ConnectionFailed, over=EVERYWHERE),
    _both("always cut", lambda: Cut(0.1), errors.ConnectionFailed),
    _both("always short", Short, errors.ConnectionFailed, errors.RangeRefused),
    _both("always stalls", Stall, errors.TimedOut, over=EVERYWHERE),
    _both("stalls for good midway", lambda: Stall(0.0, when=after(1)), errors.TimedOut),
    _both("mute", Mute, errors.TimedOut, over=EVERYWHERE),
    _both("always 503", lambda: Refuse("SlowDown"), errors.ServerFailed, over=EVERYWHERE),
    _both("always 500 midway", lambda: Refuse("InternalError", when=after(2)), errors.ServerFailed),
    # Answers that are not what was asked for.
    _both("200 for 206", Whole, over=EVERYWHERE),
    _both("200 for 206 midway", lambda: Whole(when=after(1)), RIGHT, errors.RangeRefused),
    _both("200 for 206 once", lambda: Whole(when=burst(1, 1)), RIGHT, errors.RangeRefused),
    _both("another range", WrongRange, RIGHT, errors.RangeRefused),
    _both("another range midway", lambda: WrongRange(when=after(1)), RIGHT, errors.RangeRefused),
    _both("false label", lambda: WrongRange(lie=True), RIGHT, errors.RangeRefused, over=EVERYWHERE),
    _both("no label", NoLabel, RIGHT, errors.RangeRefused),
    Trouble("no ranges", manners={"ranges": False}, over=EVERYWHERE),
    Trouble("no ranges, no length", manners={"ranges": False, "chunked": True}),
    Trouble("no suffix: 416", manners={"suffix": False}),
    Trouble("no suffix: 501", manners={"suffix": False, "suffix_status": 501}),
    Trouble("no suffix: 200", manners={"suffix": False, "suffix_status": 200}),
    Trouble("weak tags", manners={"etag": "weak"}),
    Trouble("no tags", manners={"etag": "none"}, over=EVERYWHERE),
    Trouble("no validators", manners={"etag": "none", "modified": False}),
    Trouble("packed on the way", outcomes=(errors.RangeRefused, RIGHT), manners={"gzip": "sent"}),
    Trouble("stored packed", outcomes=(errors.RangeRefused, RIGHT), manners={"gzip": "stored"}, over=EVERYWHERE),
    Trouble("siblings forbidden", manners={"missing": 403}, over=EVERYWHERE),
    # The object changed: never a mix.
    _both("other tag", lambda: OtherTag(when=again()), errors.SourceChanged, over=EVERYWHERE),
    _both("other weak tag", lambda: OtherTag('W/"b"', when=again()), errors.SourceChanged),
    _both("other date", lambda: OtherTag("", when=again()), errors.SourceChanged),
    _both("412", lambda: Refuse("PreconditionFailed", when=again()), errors.SourceChanged, over=EVERYWHERE),
    # Rights and credentials.
    _both("403", lambda: Refuse("AccessDenied"), errors.Forbidden, over=EVERYWHERE),
    _both("403 midway", lambda: Refuse("AccessDenied", when=again()), errors.Forbidden, over=EVERYWHERE),
    _both("expired", lambda: Refuse("ExpiredToken"), errors.CredentialsRefused, over=EVERYWHERE),
    _both("expired midway", lambda: Refuse("ExpiredToken", when=after(1)), errors.CredentialsRefused, over=EVERYWHERE),
    _both("unknown key", lambda: Refuse("InvalidAccessKeyId"), errors.CredentialsRefused, over=("s3",)),
    _both("wrong secret", lambda: Refuse("SignatureDoesNotMatch"), errors.CredentialsRefused, over=("s3",)),
    _both("clock", lambda: Refuse("RequestTimeTooSkewed"), errors.ClockSkewed, over=EVERYWHERE),
    _both("no such key", lambda: Refuse("NoSuchKey"), errors.NoSuchObject, over=EVERYWHERE),
    _both("no such bucket", lambda: Refuse("NoSuchBucket"), errors.NoSuchObject, over=("s3",)),
    _both("301 to another region", OtherRegion, over=("s3",)),
    _both("307 to another region", lambda: OtherRegion(status=307), over=("s3",)),
    _both("400 of another region", lambda: OtherRegion(status=400), over=("s3",)),
    # Heads that go on for ever, without silence.
    _both("endless 100", Endless, errors.TimedOut, over=EVERYWHERE),
    _both("a head without end", lambda: Endless(b"H"), errors.TimedOut, over=EVERYWHERE),
]


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> None:
    from shardcore.sources.remote.s3 import S3Transport

    S3Transport(RemoteOptions(anonymous=True, endpoint_url="http://127.0.0.1:1")).close()


@cache
def expected(sample: str) -> dict[str, Any]:
    one = samples()[sample]
    with TemporaryDirectory() as folder:
        one.stored(Path(folder))
        found = {}
        for name, action in ACTIONS.items():
            with one.opened(folder) as shard:
                found[name] = action(shard, one)
    return found


@contextmanager
def served(trouble: Trouble, transport: str, sample: Sample) -> Iterator[tuple[FaultProxy, str, RemoteOptions]]:
    """The sample behind its trouble: the proxy, the root of its addresses and the options for them."""
    server = (StoreServer if transport == "s3" else RangeServer)()
    server.behave(**trouble.manners)
    with server, FaultProxy(server.host) as proxy:
        for path, data in sample.files.items():
            server.put(f"/shards/{sample.name}/{path}", data)
        stall = STALL if trouble.stalls else NO_STALL
        limits = {"stall_timeout": stall, "connect_timeout": NO_STALL, "patience": PATIENCE, "retries": RETRIES}
        if transport == "http":
            yield proxy, f"{proxy.url}/shards", RemoteOptions(**limits)
        else:
            keys = {"access_key": "AKIATEST", "secret_key": "nobody knows", "region": "us-east-1"}
            yield proxy, "s3://shards", RemoteOptions(endpoint_url=proxy.url, addressing="path", **keys, **limits)


FORMATS = ("swh", "bloscpack", "des", "mdb", "xorb", "neuroglancer")
PLACES = [(trouble, transport) for trouble in TROUBLES for transport in trouble.over]
IN_TURN = [(*place, FORMATS[number % len(FORMATS)]) for number, place in enumerate(PLACES)]
"""Each trouble over each of its transports, with one format, and all formats in turn."""

# What a transport makes of a trouble is the same for all formats, and formats differ in the ranges that they ask for:
# each trouble meets a second format, so that every format meets all kinds of troubles. A quick run tries some of them.
AGAIN = [(trouble, trouble.over[0], FORMATS[(number + 4) % 6]) for number, trouble in enumerate(TROUBLES)]
CELLS = list(dict.fromkeys(IN_TURN + AGAIN)) if FULL else sampled(IN_TURN, 18)


@pytest.mark.parametrize(
    ("trouble", "transport", "sample"),
    [pytest.param(*cell, id=f"{cell[0].name}-{cell[1]}-{cell[2]}") for cell in CELLS],
)
def test_right_or_refused(trouble: Trouble, transport: str, sample: str) -> None:
    """Each action returns what a local copy returns, or raises the matching error within the deadline."""
    one, right = samples()[sample], expected(sample)
    threads = set(threading.enumerate())
    with nothing_left(), ThreadPoolExecutor(len(ACTIONS)) as pool:
        for done in [pool.submit(check, trouble, transport, one, name, right[name]) for name in ACTIONS]:
            done.result()
    left = [thread.name for thread in threading.enumerate() if thread not in threads]
    assert not left


def check(trouble: Trouble, transport: str, sample: Sample, name: str, right: Any) -> None:
    with served(trouble, transport, sample) as (proxy, root, options):
        proxy.faults = trouble.faults()
        tape = RequestLog()
        outcome: object
        try:
            with sample.opened(root, remote=options, tape=tape) as shard:
                value = ACTIONS[name](shard, sample)
            outcome = RIGHT
        except errors.ShardError as error:
            value, outcome = error, type(error)
            check_words(error)
        told = f"{trouble.name} {transport} {sample.name} {name}: {value!r:.300}\n{proxy.log}"
        check_attempts(tape, told)
        if outcome is RIGHT:
            assert value == right, told
        fits = outcome is RIGHT or any(isinstance(value, each) for each in trouble.outcomes if each is not RIGHT)
        assert fits, told
        # What befell a probe for a sibling that is not there is of no account.
        there = {f"/shards/{sample.name}/{path}" for path in sample.files}
        struck = [number for number in proxy.struck if proxy.log.seen[number].request.path in there]
        assert not (RIGHT not in trouble.outcomes and struck and outcome is RIGHT), f"no error: {told}"


def check_attempts(tape: RequestLog, told: str) -> None:
    """No range is asked for too often in vain; a thing that is lost is given up by all of its ranges."""
    asked = [one for one in tape.records if not one.cached]
    counts: dict[tuple[str, int | None], int] = {}
    for one in asked:
        missing = (one.stop or 0) - (one.start or 0)
        progress = one.bytes >= max(min(ENOUGH, missing // ENOUGH_SHARE), 1)
        counts[one.address, one.stop] = 0 if progress else counts.get((one.address, one.stop), 0) + 1
        assert counts[one.address, one.stop] <= RETRIES + 1, told
    in_vain = [one for one in asked if one.error and one.retry == RETRIES]
    assert len(in_vain) <= RemoteOptions().threads, told


def check_words(error: errors.ShardError) -> None:
    text = str(error)
    assert text
    assert "\n" not in text
    assert "nobody knows" not in text
