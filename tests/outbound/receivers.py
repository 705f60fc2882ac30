"""Loopback listeners that count connections and return configured replies."""

import datetime
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Receiver:
    """A listener that stores connections and requests. `reply` gets the connection and the request's bytes."""

    def __init__(self, reply: Callable[[socket.socket, bytes], None], tls: ssl.SSLContext | None) -> None:
        self.reply, self.tls = reply, tls
        self.connections = 0
        self.requests: list[bytes] = []
        self.names: list[str | None] = []  # that SNI asked for
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        if tls:
            tls.sni_callback = lambda _, name, __: self.names.append(name)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # or a thread in accept() keeps it open
        self.listener.close()

    def answer(self, connection: socket.socket) -> None:
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection:
                request = read_request(connection)
                self.requests.append(request)
                self.reply(connection, request)
        except OSError:
            return


def received(connection: socket.socket) -> bytes:
    chunk = connection.recv(65536)
    if not chunk:  # the sender was killed in the middle
        raise ConnectionError
    return chunk


def read_request(connection: socket.socket) -> bytes:
    request = b""
    while b"\r\n\r\n" not in request:
        request += received(connection)
    head, _, body = request.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0
    )
    while len(body) < length:
        body += received(connection)
    return head + b"\r\n\r\n" + body


@contextmanager
def receiver(
    reply: bytes | Callable[[socket.socket, bytes], None] = OK, tls: ssl.SSLContext | None = None
) -> Iterator[Receiver]:
    made = Receiver(reply if callable(reply) else lambda connection, _: connection.sendall(reply), tls)
    try:
        yield made
    finally:
        made.close()


def certificate_of(name: str, directory: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return TLS contexts of a server with a certificate for the name, and of a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(named)
        .issuer_name(named)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = directory / "certificate.pem", directory / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, secret)
    return server, ssl.create_default_context(cafile=str(certificate))


class Names:
    """A name server with a list of answers, of which the last is repeated."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [ip_address(text) for text in answer.split()]
