"""Limits by client: rates by token buckets, and votes. The clock is an argument. Pure.

A client is known by a keyed digest of its network, in memory alone: no address is kept or logged.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Bits of an address, of IPv4 and of IPv6, that one sender cannot choose, and that one household or company cannot.
_CLIENT_BITS = (32, 64)
_VOTER_BITS = (24, 48)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found


def network(address: str, bits: tuple[int, int]) -> str:
    """Gives the network of an address, of so many bits of IPv4 or of IPv6. A text that is no address is its own."""
    found = _address(address)
    if found is None:
        return address
    return str(ipaddress.ip_network(f"{found}/{bits[found.version == 6]}", strict=False))


def _digest(key: bytes, text: str) -> bytes:
    return hashlib.blake2b(text.encode(), key=key, digest_size=8).digest()


@dataclass
class Votes:
    """One vote for each network (/24 of IPv4, /48 of IPv6) and day, so that no address outvotes a model: its further
    submissions are stored and have none. An `own` network has any number. The networks of the last day alone are
    remembered, at most `voters_max`; those beyond have no vote."""

    own: Sequence[Network] = ()
    voters_max: int = 1_000_000
    _day: dt.date | None = None
    _voters: set[bytes] = field(default_factory=set)
    _key: bytes = b""

    def voter(self, address: str, day: dt.date) -> bytes | None:
        """Gives who votes by a submission from `address`; none for a network of one's own."""
        found = _address(address)
        if found is not None and any(found in own for own in self.own):
            return None
        if day != self._day:
            self._day, self._voters, self._key = day, set(), secrets.token_bytes(16)
        return _digest(self._key, network(address, _VOTER_BITS))

    def has_voted(self, voter: bytes) -> bool:
        """Whether a network had its vote of the day."""
        return voter in self._voters or len(self._voters) >= self.voters_max

    def count(self, voters: set[bytes]) -> None:
        """Takes the votes of networks."""
        self._voters |= voters


@dataclass
class RateLimit:
    """At most `burst` requests at once, and `per_s` a second in the long run, for each client, which is an address of
    IPv4 or a /64 of IPv6; at most `clients_max` are remembered."""

    per_s: float
    burst: float
    clients_max: int = 100_000
    _buckets: dict[bytes, tuple[float, float]] = field(default_factory=dict)
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(16))

    def wait_s(self, client: str, now_s: float) -> float:
        """Takes a token of the client with the address `client`; gives 0, or the seconds until there is one."""
        digest = _digest(self._key, network(client, _CLIENT_BITS))
        tokens, then_s = self._buckets.get(digest, (self.burst, now_s))
        tokens = min(self.burst, tokens + max(0.0, now_s - then_s) * self.per_s)
        allowed = tokens >= 1.0
        if len(self._buckets) >= self.clients_max and digest not in self._buckets:
            self._forget(now_s)
        self._buckets[digest] = (tokens - 1.0 if allowed else tokens, now_s)
        return 0.0 if allowed else (1.0 - tokens) / self.per_s

    def _forget(self, now_s: float) -> None:
        """Drops full buckets, which say nothing; where that does not help, the oldest."""
        kept = {
            key: bucket
            for key, bucket in self._buckets.items()
            if bucket[0] + (now_s - bucket[1]) * self.per_s < self.burst
        }
        while len(kept) >= self.clients_max:
            kept.pop(next(iter(kept)))
        self._buckets = kept
