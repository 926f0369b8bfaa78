"""Certificates from `AWS_CA_BUNDLE` and `SSL_CERT_FILE`, trusted in addition to the default ones."""

from __future__ import annotations

import os
import ssl
from typing import Any

from shardcore.errors import Remedy, TlsFailed
from shardcore.model.safe_text import short

VARIABLES = ("AWS_CA_BUNDLE", "SSL_CERT_FILE")


def trust_named(context: ssl.SSLContext) -> bool:
    """Trust the certificates named by environment variables; return whether there are any. May raise `TlsFailed`."""
    named: dict[str, str] = {}
    for variable in VARIABLES:
        if path := os.environ.get(variable):
            named.setdefault(path, variable)
    for path, variable in named.items():
        try:
            context.load_verify_locations(cafile=path)
        except OSError as error:  # that of TLS is one, too
            text = f"{variable} names {short(path)}, which has no certificates or cannot be read"
            raise TlsFailed(text, remedy=Remedy.TRUST) from error
    return bool(named)


def web_context() -> dict[str, Any]:
    """Return the keyword argument `ssl_context` for urllib3; empty if no environment variable names certificates."""
    from urllib3.util.ssl_ import create_urllib3_context

    context = create_urllib3_context()
    if not trust_named(context):
        return {}
    context.load_default_certs()
    return {"ssl_context": context}
