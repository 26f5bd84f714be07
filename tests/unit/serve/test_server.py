"""Addresses: where the service listens, and for whom."""

import socket

import pytest

from dragoman.core.errors import UsageError
from dragoman.serve.server import Address


def test_beyond_this_machine_there_is_a_key_or_none_is_wanted():
    for host in ("0.0.0.0", "192.168.1.1", "example.org", "::"):
        with pytest.raises(UsageError, match="other machines can reach"):
            Address.of(host, 1, None, no_key=False)
        assert Address.of(host, 1, None, no_key=True).access.key is None
        assert Address.of(host, 1, "k", no_key=False).access.key == "k"
    for host in ("127.0.0.1", "localhost", "::1"):
        assert Address.of(host, 1, None, no_key=False).access.hosts >= {"localhost", "127.0.0.1", "[::1]"}
    with pytest.raises(UsageError, match="found --api-key and --no-key"):
        Address.of("127.0.0.1", 1, "k", no_key=True)
    with pytest.raises(UsageError, match="the key is empty"):
        Address.of("127.0.0.1", 1, "", no_key=False)


def test_an_answer_waits_for_nothing():
    with Address.of("127.0.0.1", 0, None, no_key=False).bound() as listener:
        assert listener.proto == socket.IPPROTO_TCP  # asyncio turns Nagle's algorithm off only where it is
