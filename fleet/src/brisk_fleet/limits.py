"""Rate limits by client: token buckets, with the clock as an argument. Pure.

A client is known by a keyed digest of its address, in memory alone: no address is kept or logged.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field


@dataclass
class RateLimit:
    """At most `burst` requests at once, and `per_s` a second in the long run, for each client; at most `clients_max`
    are remembered."""

    per_s: float
    burst: float
    clients_max: int = 100_000
    _buckets: dict[bytes, tuple[float, float]] = field(default_factory=dict)
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(16))

    def wait_s(self, client: str, now_s: float) -> float:
        """Takes a token of `client`; gives 0, or the seconds until there is one."""
        digest = hashlib.blake2b(client.encode(), key=self._key, digest_size=8).digest()
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
