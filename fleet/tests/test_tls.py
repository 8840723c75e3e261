"""`brisk submit` over HTTPS: TLS before a server, with certificates of a made-up authority. Needs the command brisk
(option --brisk)."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import json
import os
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Start
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

pytestmark = pytest.mark.full


def document() -> dict[str, Any]:
    """A slowdown study of an emulated device: the shortest document that can be submitted."""
    summary = {
        "count": 3,
        "median": 2.0,
        "low": 1.9,
        "high": 2.1,
        "confidence": 0.75,
        "min": 1.9,
        "max": 2.1,
        "variation": 0.01,
    }
    names = ("read_alone_us", "read_beside_us", "write_alone_us", "write_beside_us", "read_slowdown", "write_slowdown")
    device = {
        "name": "loop3",
        "size_bytes": 1 << 30,
        "rotational": False,
        "schedulers_available": [],
        "logical_block_bytes": 4096,
    }
    unknown = ("model", "scheduler", "queue_depth_requests", "read_ahead_kib", "max_request_kib", "write_cache")
    environment = {"brisk_version": "0.1.0", "kernel": "6.18.4", "architecture": "x86_64", "cpus": 2, "path": "/x"}
    environment |= {"file_system": None, "mount_options": None}
    environment["device"] = device | dict.fromkeys(unknown) | {"lab_preset": "galaxy-s5-emmc"}
    head = {
        "kind": "slowdown",
        "schema_version": 1,
        "started": "2026-10-05T20:28:59Z",
        "duration_s": 12.5,
        "seed": 42,
        "warnings": [],
    }
    rows = [{"pattern": "random", "streams": 1} | dict.fromkeys(names, summary)]
    return head | {"block_bytes": 4096, "stream_bytes": 65536, "rows": rows, "environment": environment}


@dataclass
class Authority:
    """Who signs the certificates of servers."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def made(cls, name: str) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        return cls(
            key, certificate(subject, subject, key, key, [(x509.BasicConstraints(ca=True, path_length=0), True)])
        )

    def file(self, path: Path) -> Path:
        path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        return path

    def server(self, path: Path, address: str) -> Path:
        """Key and certificate of a server at an address."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "fleet")])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        signed = certificate(subject, self.certificate.subject, key, self.key, [(names, False)])
        pem = serialization.Encoding.PEM
        secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        path.write_bytes(secret + signed.public_bytes(pem))
        return path


def certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    extensions: list[tuple[x509.ExtensionType, bool]],
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(signer, hashes.SHA256())


Proxy = Callable[[Path, str], str]


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """Ends TLS before a server, as a reverse proxy does: gives the address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def listen(context: ssl.SSLContext, host: str, port: int) -> str:
        async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while part := await reader.read(1 << 16):
                writer.write(part)
                await writer.drain()
            writer.close()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            back_reader, back_writer = await asyncio.open_connection(host, port)
            await asyncio.gather(pipe(reader, back_writer), pipe(back_reader, writer), return_exceptions=True)

        listener = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
        return f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"

    def started(certificate: Path, url: str) -> str:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
        host, port = url.removeprefix("http://").split(":")
        return asyncio.run_coroutine_threadsafe(listen(context, host, int(port)), loop).result(30)

    yield started
    loop.call_soon_threadsafe(loop.stop)
    thread.join(30)


@pytest.fixture
def brisk(request: pytest.FixtureRequest) -> str:
    found: str | None = request.config.getoption("--brisk")
    if found is None:
        pytest.skip("needs the command brisk: --brisk")
    return found


def test_a_server_is_believed_by_its_certificate_alone(start: Start, proxy: Proxy, brisk: str, tmp_path: Path) -> None:
    server = start()
    ours, other = Authority.made("Ours"), Authority.made("Other")
    authority, unknown = ours.file(tmp_path / "ours.pem"), other.file(tmp_path / "other.pem")
    url = proxy(ours.server(tmp_path / "server.pem", "127.0.0.1"), server.url)
    misnamed = proxy(ours.server(tmp_path / "misnamed.pem", "127.0.0.2"), server.url)

    def submit(url: str, trusted: Path, *more: str) -> subprocess.CompletedProcess[str]:
        receipts = ("--receipts", str(tmp_path / "receipts"), "--server", url)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SSL_CERT")}
        command = [brisk, "submit", *more, *receipts]
        return subprocess.run(
            command, env=environment | {"SSL_CERT_FILE": str(trusted)}, capture_output=True, text=True, check=False
        )

    file = tmp_path / "document.json"
    file.write_text(json.dumps(document()), encoding="utf-8")
    send = (str(file), "--yes", "--json")
    for refused in (submit(url, unknown, *send), submit(misnamed, authority, *send)):
        assert refused.returncode == 2, refused
        assert "certificate" in refused.stderr.lower()
        # It is not tried again: another attempt does not change it.
        assert "attempt" not in refused.stderr
    assert "brisk_fleet_submissions 0.0" in server.client.get("/metrics").text
    sent = submit(url, authority, *send)
    assert sent.returncode == 0, sent.stderr
    assert "not encrypted" not in sent.stderr
    assert "brisk_fleet_submissions 1.0" in server.client.get("/metrics").text
    # Deletion as well.
    found = json.loads(next((tmp_path / "receipts").glob("*.json")).read_text(encoding="utf-8"))["id"]
    assert submit(url, authority, "--delete", found).returncode == 0
    assert "brisk_fleet_submissions 0.0" in server.client.get("/metrics").text
