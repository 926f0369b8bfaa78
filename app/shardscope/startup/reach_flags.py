"""The flags of the `shardscope` command that say how an address is reached, called as those of `shardcore`. No Qt."""

from __future__ import annotations

import argparse
from typing import Any

from shardcore import RemoteOptions, UsageError

_FLAGS = ("endpoint_url", "region", "profile", "requester_pays", "addressing")


def add_reach_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the flags to a parser."""
    group = parser.add_argument_group("remote addresses")
    group.add_argument("--endpoint-url", metavar="URL", help="a store that speaks S3, instead of Amazon's")
    group.add_argument("--region", metavar="NAME", help="the region of the bucket")
    group.add_argument("--profile", metavar="NAME", help="sign with this profile of the AWS configuration")
    group.add_argument("--no-sign-request", action="store_true", help="sign nothing: public data")
    group.add_argument("--requester-pays", action="store_true", help="you pay for what you read")
    group.add_argument("--addressing", choices=("path", "virtual"), help="endpoint/bucket/key, or bucket.endpoint/key")


def reach_of(options: argparse.ArgumentParser, given: argparse.Namespace) -> RemoteOptions | None:
    """What the flags say; None when they say nothing. Ends the program where they contradict each other."""
    found: dict[str, Any] = {name: getattr(given, name) for name in _FLAGS if getattr(given, name)}
    if given.no_sign_request:
        found["anonymous"] = True
    try:
        return RemoteOptions(**found) if found else None
    except UsageError as error:
        options.error(str(error))
