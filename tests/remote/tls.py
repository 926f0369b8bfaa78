"""Servers that speak TLS, with certificates made for one test."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.remote.servers import RangeServer, StoreServer


def certificate(folder: Path) -> Path:
    """Write a certificate of 127.0.0.1 that signs itself, with its key; the path of the certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test server")])
    begin = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    path.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


class TlsServer(RangeServer):
    """A range server that speaks TLS.

    Args:
        certificate: The path of the certificate; the key lies beside it.
    """

    def __init__(self, certificate: Path) -> None:
        super().__init__()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, certificate.with_name("key.pem"))

    @property
    def url(self) -> str:
        """Its root, without the slash."""
        return f"https://{self.host}"

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            connection = self._context.wrap_socket(connection, server_side=True)
        except OSError:  # the client does not trust the certificate
            connection.close()
            with self.lock:
                self.connections.pop(number, None)
            return
        super()._serve(connection, number)


class TlsStore(TlsServer, StoreServer):
    """A store that speaks TLS."""
