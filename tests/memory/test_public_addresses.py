"""Endpoints that are asked at public addresses alone. Tests reach no public one: there this host counts as public."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from embedding_endpoint import Endpoint, running

from memory.embedding.base import EmbeddingError
from memory.embedding.http import HttpEmbedder
from memory.embedding.providers import Providers, System
from memory.models import EmbeddingModel
from memory.remote.deadlines import by, client_for
from memory.remote.public_addresses import NotPublicError, PublicTransport, addresses_of, is_public
from tasks.runtime import Runtime

TEXTS = {"json": {"model": "loom", "input": ["a"]}}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running() as server:
        yield server


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def local(address: str) -> bool:
    return ip_address(address).is_loopback


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "2002:808:808::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.20",
        "100.64.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "::",
        "fd00::1",
        "fe80::1%eth0",
        "ff02::1",
        "::ffff:127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "fec0::1",
    ],
)
def test_what_only_this_network_reaches_is_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "0x7f.1", "2130706433", "[::1]"])
def test_a_host_of_this_network_is_never_asked(endpoint: Endpoint, host: str) -> None:
    url = endpoint.url.replace("127.0.0.1", host)
    embedder = HttpEmbedder("openai", url, "loom", "sk-loom", None, public_only=True)
    for refused in (embedder.check_address, lambda: embedder.embed(["a"])):
        with pytest.raises(EmbeddingError, match="not public") as caught:
            refused()
        assert caught.value.permanent
    assert not embedder.healthy()
    assert endpoint.keys == []


def test_a_host_with_one_address_of_this_network_is_not_asked_at_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in ("8.8.8.8", "10.0.0.7")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(NotPublicError):
        addresses_of("loom.example", is_public)


def test_a_name_that_stands_for_nothing_is_an_endpoint_that_is_away() -> None:
    embedder = HttpEmbedder("openai", "http://nobody.invalid", "loom", None, None, public_only=True)
    embedder.check_address()
    with pytest.raises(EmbeddingError, match="did not answer") as caught:
        embedder.embed(["a"])
    assert caught.value.away


def test_without_the_setting_this_host_is_asked(endpoint: Endpoint) -> None:
    embedder = HttpEmbedder("openai", endpoint.url, "loom", None, None)
    embedder.check_address()
    assert embedder.embed(["a"]).shape == (1, 5)


def test_an_address_that_is_looked_at_is_the_one_that_is_asked(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up, real = [], socket.getaddrinfo

    def once(host: str, *rest: object, **more: object) -> object:
        looked_up.append(host)
        if host == "loom.example":
            # A name server may answer otherwise the second time.
            assert looked_up.count(host) == 1
            host = "127.0.0.1"
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", once)
    port = endpoint.server_address[1]
    with httpx.Client(transport=PublicTransport(local)) as client:
        assert client.post(f"http://loom.example:{port}/v1/embeddings", **TEXTS).status_code == 200
    assert looked_up[0] == "loom.example"


def test_an_address_nobody_listens_at_is_passed_over(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def two(host: str, *rest: object, **more: object) -> object:
        if host != "loom.example":
            return real(host, *rest, **more)
        return real("127.0.0.9", *rest, **more) + real("127.0.0.1", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", two)
    port = endpoint.server_address[1]
    with httpx.Client(transport=PublicTransport(local)) as client:
        assert client.post(f"http://loom.example:{port}/v1/embeddings", **TEXTS).status_code == 200


def test_the_certificate_is_that_of_the_name(endpoint: Endpoint, tmp_path: Path) -> None:
    trusted = serve_tls(endpoint, tmp_path, "localhost")
    port = endpoint.server_address[1]
    with client_for({}, timeout=5.0, transport=PublicTransport(local, verify=trusted)) as client:
        assert client.post(f"https://localhost:{port}/v1/embeddings", **TEXTS).status_code == 200
        with pytest.raises(httpx.ConnectError, match="certificate"):
            client.post(f"https://127.0.0.1:{port}/v1/embeddings", **TEXTS)


def test_what_is_encrypted_has_to_come_in_time_as_well(endpoint: Endpoint, tmp_path: Path) -> None:
    trusted, released = serve_tls(endpoint, tmp_path, "localhost"), threading.Event()
    endpoint.meanwhile = lambda: released.wait(10)
    url = f"https://localhost:{endpoint.server_address[1]}/v1/embeddings"
    with client_for({}, timeout=20.0, transport=PublicTransport(local, verify=trusted)) as client:
        with by(time.monotonic() + 0.5), pytest.raises(httpx.ReadTimeout):
            client.post(url, **TEXTS)
        released.set()
        assert client.post(url, **TEXTS).status_code == 200


@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("scheme", ["http://", ""])
def test_a_proxy_of_the_environment_is_what_asks(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, name: str, scheme: str
) -> None:
    monkeypatch.setenv(name, scheme + endpoint.url.removeprefix("http://"))
    embedder = HttpEmbedder("openai", "http://nobody.invalid", "loom", "sk-loom", None, public_only=True)
    assert embedder.embed(["a"]).shape == (1, 5)
    assert endpoint.keys == ["Bearer sk-loom"]
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    inside = HttpEmbedder("openai", endpoint.url, "loom", "sk-loom", None, public_only=True)
    with pytest.raises(EmbeddingError, match="not public"):
        inside.embed(["a"])


def test_the_systems_own_endpoint_is_asked_wherever_it_is(endpoint: Endpoint, runtime: Runtime) -> None:
    system = System("none", llamacpp_url=endpoint.url, llamacpp_model="loom", public_only=True)
    providers = Providers(system, runtime.keys)
    of_system = EmbeddingModel(provider_type="llamacpp", endpoint_url=endpoint.url, model="loom")
    own = EmbeddingModel(provider_type="openai", endpoint_url=endpoint.url, model="loom")
    assert providers.embedder(of_system).embedder.embed(["a"]).shape == (1, 5)
    for asked in (False, True):
        with pytest.raises(EmbeddingError, match="not public"):
            providers.embedder(own, asked=asked).embedder.embed(["a"])


def serve_tls(endpoint: Endpoint, folder: Path, name: str) -> ssl.SSLContext:
    """Let an endpoint speak TLS as a host of this name, and return what trusts it."""
    key, called = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(called, called, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(hours=1))
    names = x509.SubjectAlternativeName([x509.DNSName(name)])
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    unlocked = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unlocked)
    shown = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "both.pem").write_bytes(pem + shown)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(folder / "both.pem")
    endpoint.socket = served.wrap_socket(endpoint.socket, server_side=True)
    return ssl.create_default_context(cadata=shown.decode())
