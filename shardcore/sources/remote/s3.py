"""Ranges and listings of S3 and of stores that speak it, with boto3."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import boto3
import botocore.exceptions as refused
import botocore.loaders
import botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.parsers import ResponseParserError

from shardcore.errors import CredentialsRefused, Remedy, RemoteError, UsageError
from shardcore.model.text import short
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.cancel import NoXml, let_tell
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.response import (
    Broken,
    ListingPage,
    ListingRefused,
    RangeQuery,
    Reply,
    close_pools,
    failure,
)

GOOGLE_ENDPOINT = "https://storage.googleapis.com"
USUAL_REGION = "us-east-1"
"""Region in which a bucket is requested by default; the answer names the right one."""


NO_ANSWERS = (refused.BotoCoreError, ResponseParserError, ValueError, LookupError, TypeError, AttributeError)
"""Exceptions of botocore where there is no answer, or one that it cannot parse."""


@cache
def _descriptions() -> Any:
    """Return what botocore knows of S3; reading it takes longer than everything else about a client."""
    return botocore.loaders.create_loader()


class S3Transport:
    """Sends requests to one store, with one client for all threads.

    Its own retries are off: they would happen unseen. A bucket in another region is requested there (the answer says
    in which). Buckets are never listed, and their location is never requested.

    Args:
        options: How the store is reached.
        scheme: `s3` or `gs`.
        region: The region that the address names; empty when it names none.

    Attributes:
        anonymous: Whether requests are not signed.

    Raises:
        CredentialsRefused: The profile does not exist, or its credentials cannot be read.
        UsageError: The endpoint is invalid.
    """

    anonymous: bool | None

    def __init__(self, options: RemoteOptions, scheme: str = "s3", region: str = "") -> None:
        self._payer = {"RequestPayer": "requester"} if options.requester_pays else {}
        self._sent = threading.local()
        session = botocore.session.Session(profile=options.profile)
        session.register_component("data_loader", _descriptions())
        # Parsing the dates of a thousand names takes three times as long as everything else of a listing.
        session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
        try:
            self.anonymous = self._unsigned(options, session, scheme)
            self._client = self._make(options, session, scheme, region)
        except refused.ProfileNotFound as error:
            raise CredentialsRefused(f"the AWS configuration has no profile {short(options.profile)}") from error
        except (refused.BotoCoreError, ValueError) as error:
            if isinstance(error, ValueError) and not isinstance(error, refused.BotoCoreError):
                raise UsageError("the endpoint cannot be used: it is an address such as https://host:9000") from error
            raise _without_answer(error, scheme) from error
        http = self._client._endpoint.http_session
        # Its managers for proxies are created when they are needed, with the classes that the session keeps.
        let_tell(http._manager)
        http._pool_classes_by_scheme = http._manager.pool_classes_by_scheme
        self._client.meta.events.register("before-send.s3", self._count)

    @staticmethod
    def _unsigned(options: RemoteOptions, session: Any, scheme: str) -> bool:
        if options.anonymous is not None:
            return options.anonymous
        if options.profile or options.access_key:
            return False
        # Credentials of Amazon's configuration are none of Google's, unless somebody names the profile.
        return scheme == "gs" or session.get_credentials() is None

    def _make(self, options: RemoteOptions, session: Any, scheme: str, region: str) -> Any:
        style = options.addressing or ("path" if scheme == "gs" else "auto")
        config = Config(
            connect_timeout=options.connect_timeout,
            read_timeout=options.stall_timeout,
            max_pool_connections=options.threads + 2,
            retries={"total_max_attempts": 1, "mode": "standard"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": style},
            **({"signature_version": UNSIGNED} if self.anonymous else {}),
        )
        keys = {
            "aws_access_key_id": options.access_key,
            "aws_secret_access_key": options.secret_key,
            "aws_session_token": options.session_token,
        }
        endpoint = options.endpoint_url or (GOOGLE_ENDPOINT if scheme == "gs" else None)
        where = options.region or region or session.get_config_variable("region") or USUAL_REGION
        return boto3.Session(botocore_session=session).client(
            "s3",
            endpoint_url=endpoint,
            region_name="auto" if scheme == "gs" and not options.region else where,
            config=config,
            **({name: value for name, value in keys.items() if value} if not self.anonymous else {}),
        )

    def get(self, asked: RangeQuery) -> Reply:
        """Request a range.

        Raises:
            Broken: There was no answer.
            RemoteError: There can be none.
        """
        address = asked.address
        wanted = {"Bucket": address.place, "Key": address.path, "Range": asked.range, **self._payer}
        if asked.match:
            wanted["IfMatch"] = asked.match
        self._sent.count = 0
        try:
            answer = self._client.get_object(**wanted)
        except refused.ClientError as error:
            return error_reply(error)
        except NO_ANSWERS as error:
            raise broken_error(error, address) from error
        facts = answer["ResponseMetadata"]
        # Of the body, the answer below it: it can be read as it comes, and cancelled.
        return Reply(facts["HTTPStatusCode"], facts["HTTPHeaders"], answer["Body"]._raw_stream)

    @property
    def client(self) -> Any:
        """The client of boto3, for what is written."""
        return self._client

    @property
    def redirects(self) -> int:
        """Return how many requests the last `get` of this thread needed beyond its own."""
        return max(getattr(self._sent, "count", 0) - 1, 0)

    def page(self, folder: Address, token: str, most: int) -> ListingPage:
        """Return a part of what lies directly in a folder.

        Args:
            folder: The folder.
            token: What the part before gave; empty for the first one.
            most: How many names at most.

        Raises:
            ListingRefused: The store answers with an error.
            Broken: There was no answer.
            RemoteError: There can be none.
        """
        more = {"ContinuationToken": token} if token else {}
        try:
            answer = self._client.list_objects_v2(
                Bucket=folder.place, Prefix=folder.path, Delimiter="/", MaxKeys=most, **self._payer, **more
            )
        except refused.ClientError as error:
            raise ListingRefused(error_reply(error)) from error
        except NO_ANSWERS as error:
            raise broken_error(error, folder) from error
        cut = len(folder.path)
        try:
            found = [(each["Key"][cut:], int(each["Size"])) for each in answer.get("Contents", ())]
            below = [each["Prefix"][cut:].rstrip("/") for each in answer.get("CommonPrefixes", ())]
        except NO_ANSWERS as error:
            raise broken_error(error, folder) from error
        # The folder itself may be there as an empty object.
        return ListingPage(
            [(name, size) for name, size in found if name],
            [name for name in below if name],
            answer.get("NextContinuationToken", "") if answer.get("IsTruncated") else "",
        )

    def close(self) -> None:
        """Close the connections."""
        session = self._client._endpoint.http_session
        for manager in (session._manager, *session._proxy_managers.values()):
            close_pools(manager)
        self._client.close()

    def _count(self, **_: Any) -> None:
        self._sent.count = getattr(self._sent, "count", 0) + 1


def error_reply(error: refused.ClientError) -> Reply:
    """Return an error of a store, as an answer without a body."""
    facts = error.response.get("ResponseMetadata", {})
    said = error.response.get("Error", {})
    headers = {name.lower(): value for name, value in facts.get("HTTPHeaders", {}).items()}
    return Reply(int(facts.get("HTTPStatusCode", 0)), headers, None, code=str(said.get("Code", "")))


def broken_error(error: Exception, address: Address, *, writing: bool = False) -> Exception:
    """Return what is raised when botocore gives up: another attempt may help, or none."""
    transient = (
        refused.HTTPClientError,
        refused.ConnectionError,
        refused.ResponseStreamingError,
        refused.IncompleteReadError,
    )
    if isinstance(error, refused.HTTPClientError) and isinstance(error.kwargs.get("error"), NoXml):
        return RemoteError(f"{address.shown}: the server does not answer as S3 does; its answer is no XML")
    if isinstance(error, transient):
        return Broken(failure(error, address, writing=writing))
    if not isinstance(error, refused.BotoCoreError):
        # Its words have the body of the answer in them.
        return RemoteError(f"{address.shown}: the server does not answer as S3 does; its answer cannot be parsed")
    if isinstance(error, refused.ParamValidationError):
        return RemoteError(f"{address.shown} is no address in a store: the name of its bucket cannot be one")
    return _without_answer(error, address.shown)


def _without_answer(error: Exception, where: str) -> RemoteError:
    """Return a failure before anything was sent; the words of botocore may hold secrets and are not repeated."""
    name = type(error).__name__
    words = ("Credential", "Token", "Profile", "SSO", "Config", "Assume", "Metadata", "Unauthorized", "Auth")
    if any(word in name for word in words):
        text = f"the credentials for {where} cannot be had ({name})"
        return CredentialsRefused(text, remedy=Remedy.RENEW)
    return RemoteError(f"{where} cannot be requested ({name})")


def profiles() -> list[str]:
    """The names of the profiles in the AWS configuration, sorted; empty where there is none, or it cannot be read."""
    try:
        return sorted(botocore.session.Session().available_profiles)
    except (refused.BotoCoreError, OSError, ValueError):
        return []
