"""Range requests and listings for S3 and compatible stores, with boto3 sessions and botocore clients."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.request import getproxies

import boto3
import botocore.exceptions as refused
import botocore.loaders
import botocore.session
from botocore import UNSIGNED
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.configprovider import ConfiguredEndpointProvider
from botocore.parsers import ResponseParserError
from botocore.utils import percent_encode

from shardcore.dataclasses import dataclass
from shardcore.errors import CredentialsRefused, Remedy, RemoteError, UsageError
from shardcore.model.text import short, visible, without_secrets
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.http import trust_named
from shardcore.sources.remote.options import AMAZON, RemoteOptions
from shardcore.sources.remote.response import (
    Broken,
    ListingPage,
    ListingRefused,
    Login,
    NotXml,
    RangeQuery,
    Reply,
    Transport,
    close_pools,
    enable_callbacks,
    failure,
)

GOOGLE_ENDPOINT = "https://storage.googleapis.com"
USUAL_REGION = "us-east-1"
"""Region of the first request; if it is wrong, the response names the right one."""


NO_RESPONSE = (refused.BotoCoreError, ResponseParserError, ValueError, LookupError, TypeError, AttributeError)
"""Exceptions that botocore raises if there is no response, or if it cannot parse the response."""


ELSEWHERE = ("AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect")
"""Error codes of a store whose bucket is at another endpoint."""


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """URL, user agent and signing context of a bucket; cached because botocore needs long to compute them."""

    url: str
    agent: str
    context: dict[str, Any]

    @classmethod
    def of(cls, request: Any, address: Address) -> _Endpoint | None:
        url, path = request.url.partition("?")[0], _path(address)
        if not url.endswith(path):
            return None
        return cls(url.removesuffix(path), request.headers["User-Agent"], request.context)

    def request(self, address: Address, headers: dict[str, str]) -> Any:
        version = f"?versionId={percent_encode(address.version)}" if address.version else ""
        request = AWSRequest("GET", self.url + _path(address) + version, {"User-Agent": self.agent, **headers})
        request.context = dict(self.context)
        request.stream_output = True
        return request


def _path(address: Address) -> str:
    return str(percent_encode(address.path, safe="/~"))


@cache
def _descriptions() -> Any:
    """Return botocore's loader of the S3 model, shared because loading is the slowest part of creating a client."""
    return botocore.loaders.create_loader()


class S3Transport(Transport):
    """Sends requests to one store, with one botocore client for all threads.

    Retries of botocore are off, so that every request is logged. Redirects to another region are followed, without
    requests to list or locate the bucket.

    Raises:
        CredentialsRefused: The profile does not exist, or its credentials cannot be read.
        UsageError: The endpoint is invalid.
    """

    def __init__(self, options: RemoteOptions, scheme: str = "s3", region: str = "") -> None:
        super().__init__()
        self._payer = {"RequestPayer": "requester"} if options.requester_pays else {}
        self._endpoints: dict[str, _Endpoint | None] = {}
        core = botocore.session.Session()
        try:
            session = boto3.Session(
                options.access_key,
                options.secret_key,
                options.session_token,
                region_name=options.region,
                profile_name=options.profile,
                botocore_session=core,
            )
            core.register_component("data_loader", _descriptions())
            # Parsing dates takes three times as long as the rest of a listing.
            core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
            unsigned = self._unsigned(options, session, scheme)
            self.login = Login.UNSIGNED if unsigned else Login.PAYING if self._payer else Login.SIGNED
            self.client = self._make(options, session, scheme, region)
        except refused.ProfileNotFound as error:
            named = short(error.kwargs["profile"])
            raise CredentialsRefused(f"the AWS configuration has no profile {named}") from error
        except (refused.BotoCoreError, ValueError) as error:
            if isinstance(error, ValueError) and not isinstance(error, refused.BotoCoreError):
                raise UsageError("invalid endpoint; expected an address such as https://host:9000") from error
            raise _without_answer(error, scheme) from error
        http = self.client._endpoint.http_session
        # Managers for proxies are created later, with the pool classes of the session.
        enable_callbacks(http._manager)
        context = http._manager.connection_pool_kw["ssl_context"]
        # Loading certificates is slow, and an http endpoint needs none, unless a proxy does.
        plain = self.client.meta.endpoint_url.startswith("http:") and not getproxies()
        if not plain and trust_named(context):
            http._get_ssl_context = lambda: context
        http._pool_classes_by_scheme = http._manager.pool_classes_by_scheme
        self.client.meta.events.register("before-send.s3", self._count)
        self.client.meta.events.register("before-sign.s3.GetObject", self._record_request)
        self.client.meta.events.register("before-parse.s3.ListObjectsV2", self._record_size)

    @staticmethod
    def _unsigned(options: RemoteOptions, session: boto3.Session, scheme: str) -> bool:
        if options.anonymous is not None:
            return options.anonymous
        if options.profile or options.access_key:
            return False
        # AWS credentials are not for Google, unless the user gives a profile.
        return scheme == "gs" or session.get_credentials() is None

    def _make(self, options: RemoteOptions, session: boto3.Session, scheme: str, region: str) -> Any:
        style = options.addressing or ("path" if scheme == "gs" else "auto")
        config = Config(
            connect_timeout=options.connect_timeout,
            read_timeout=options.stall_timeout,
            max_pool_connections=options.threads + 2,
            retries={"total_max_attempts": 1, "mode": "standard"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": style},
            **({"signature_version": UNSIGNED} if self.login is Login.UNSIGNED else {}),
        )
        where = options.region or region or session.region_name or USUAL_REGION
        return session.client(
            "s3",
            endpoint_url=options.endpoint_url or (GOOGLE_ENDPOINT if scheme == "gs" else None),
            region_name="auto" if scheme == "gs" and not options.region else where,
            config=config,
        )

    def get(self, asked: RangeQuery) -> Reply:
        self._sent.count = 0
        endpoint = self._endpoints.get(asked.address.place)
        reply = self._get_directly(asked, endpoint) if endpoint is not None else None
        return reply or self._get_by_client(asked)

    def _get_by_client(self, asked: RangeQuery) -> Reply:
        address = asked.address
        wanted = {"Bucket": address.place, "Key": address.path, "Range": asked.range, **self._payer}
        if asked.match:
            wanted["IfMatch"] = asked.match
        if address.version:
            wanted["VersionId"] = address.version
        try:
            answer = self.client.get_object(**wanted)
        except refused.ClientError as error:
            return error_reply(error, self.login)
        except NO_RESPONSE as error:
            raise broken_error(error, address) from error
        self._endpoints[address.place] = _Endpoint.of(self._sent.signed, address)
        facts = answer["ResponseMetadata"]
        # The raw response: it can be read as it arrives, and cancelled.
        return Reply(facts["HTTPStatusCode"], facts["HTTPHeaders"], answer["Body"]._raw_stream, login=self.login)

    def _get_directly(self, asked: RangeQuery, endpoint: _Endpoint) -> Reply | None:
        """Request a range from a cached endpoint; return None if the bucket is no longer at this endpoint."""
        headers = asked.headers
        if self._payer:
            headers["x-amz-request-payer"] = self._payer["RequestPayer"]
        request = endpoint.request(asked.address, headers)
        try:
            self.client._request_signer.sign("GetObject", request)
            self._count()
            answer = self.client._endpoint.http_session.send(request.prepare())
        except NO_RESPONSE as error:
            raise broken_error(error, asked.address) from error
        reply = Reply(answer.status_code, answer.headers, answer.raw, login=self.login)
        if reply.status < 300:
            return reply
        reply.read_error()
        reply.close(whole=answer.raw.length_remaining == 0)
        if reply.status < 400 or reply.code in ELSEWHERE:
            self._endpoints.pop(asked.address.place, None)
            return None
        return Reply(reply.status, reply.headers, None, code=reply.code, login=self.login)

    def page(self, folder: Address, token: str, most: int) -> ListingPage:
        more = {"ContinuationToken": token} if token else {}
        self._sent.count = 0
        try:
            answer = self.client.list_objects_v2(
                Bucket=folder.place, Prefix=folder.path, Delimiter="/", MaxKeys=most, **self._payer, **more
            )
        except refused.ClientError as error:
            raise ListingRefused(error_reply(error, self.login)) from error
        except NO_RESPONSE as error:
            raise broken_error(error, folder) from error
        cut = len(folder.path)
        try:
            found = [(each["Key"][cut:], int(each["Size"])) for each in answer.get("Contents", ())]
            below = [each["Prefix"][cut:].rstrip("/") for each in answer.get("CommonPrefixes", ())]
        except NO_RESPONSE as error:
            raise broken_error(error, folder) from error
        # The folder itself may be an empty object.
        return ListingPage(
            [(name, size) for name, size in found if name],
            [name for name in below if name],
            answer.get("NextContinuationToken", "") if answer.get("IsTruncated") else "",
            getattr(self._sent, "listed", 0),
        )

    def close(self) -> None:
        session = self.client._endpoint.http_session
        for manager in (session._manager, *session._proxy_managers.values()):
            close_pools(manager)
        self.client.close()

    def _count(self, **_: Any) -> None:
        self._sent.count = getattr(self._sent, "count", 0) + 1

    def _record_request(self, request: Any, **_: Any) -> None:
        self._sent.signed = request

    def _record_size(self, response_dict: dict[str, Any], **_: Any) -> None:
        self._sent.listed = len(response_dict.get("body") or b"")


def error_reply(error: refused.ClientError, login: Login = Login.SIGNED) -> Reply:
    facts = error.response.get("ResponseMetadata", {})
    said = error.response.get("Error", {})
    status, headers = int(facts.get("HTTPStatusCode", 0)), facts.get("HTTPHeaders", {})
    return Reply(status, headers, None, code=str(said.get("Code", "")), login=login)


def broken_error(error: Exception, address: Address, *, writing: bool = False) -> Exception:
    """Convert an exception of botocore: `Broken` if a retry may help, else another error."""
    transient = (
        refused.HTTPClientError,
        refused.ConnectionError,
        refused.ResponseStreamingError,
        refused.IncompleteReadError,
    )
    if isinstance(error, refused.HTTPClientError) and isinstance(error.kwargs.get("error"), NotXml):
        return RemoteError(f"{address.shown}: the server does not speak S3: its response is not XML")
    if isinstance(error, transient):
        return Broken(failure(error, address, writing=writing))
    if not isinstance(error, refused.BotoCoreError):
        # The message would contain the body of the response.
        return RemoteError(f"{address.shown}: the server does not speak S3: its response cannot be parsed")
    if isinstance(error, refused.ParamValidationError):
        return RemoteError(f"{address.shown} is not an address in a store: invalid bucket name")
    return _without_answer(error, address.shown)


def _without_answer(error: Exception, where: str) -> RemoteError:
    """Convert an exception that botocore raised before sending. Its text is omitted, since it may contain secrets."""
    name = type(error).__name__
    words = ("Credential", "Token", "Profile", "SSO", "Config", "Assume", "Metadata", "Unauthorized", "Auth")
    if any(word in name for word in words):
        return CredentialsRefused(f"no credentials for {where} ({name})", remedy=Remedy.RENEW)
    return RemoteError(f"{where} cannot be requested ({name})")


def profiles() -> list[str]:
    """Return the profiles in the AWS configuration, sorted; empty if it cannot be read."""
    try:
        return sorted(boto3.Session().available_profiles)
    except (refused.BotoCoreError, OSError, ValueError):
        return []


def store_of(options: RemoteOptions) -> str:
    session, found = botocore.session.Session(profile=options.profile), options.endpoint_url
    try:
        if not found and not session.get_config_variable("ignore_configured_endpoint_urls"):
            provider = ConfiguredEndpointProvider(session.full_config, session.get_scoped_config(), "s3")
            found = provider.provide()
    except refused.ProfileNotFound:
        found = None  # the profile is reported when it is used
    except refused.BotoCoreError as error:
        raise _without_answer(error, "a store") from error
    return visible(without_secrets(found)).rstrip("/") if found else AMAZON


def signer_of(options: RemoteOptions) -> str:
    if options.anonymous:
        return "anonymously"
    if options.access_key:
        return "with the given keys"
    profile = options.profile or botocore.session.Session().get_config_variable("profile")
    return f"as profile {visible(profile)}" if profile else "with the credentials of the AWS configuration, if any"
