"""Signatures in the format of minisign (https://jedisct1.github.io/minisign/): Ed25519 over the BLAKE2b-512 digest of a
file.

A secret key file is minisign's own without a password (`minisign -G -W`); both programs read each other's keys and
signatures.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from brisk_fleet import whole
from brisk_fleet.errors import FleetError

_RAW = 32


class Key:
    """A pair of keys: `number` is the 8 bytes by which a public key is recognised."""

    def __init__(self, number: bytes, private: Ed25519PrivateKey) -> None:
        self.number, self._private = number, private

    @classmethod
    def generate(cls) -> Key:
        """Makes a new pair."""
        return cls(secrets.token_bytes(8), Ed25519PrivateKey.generate())

    def public_text(self) -> str:
        """Gives the public key file."""
        raw = b"Ed" + self.number + self._private.public_key().public_bytes_raw()
        return f"untrusted comment: minisign public key {self.number[::-1].hex().upper()}\n{_encode(raw)}\n"

    def secret_text(self) -> str:
        """Gives the secret key file, without a password."""
        pair = self._private.private_bytes_raw() + self._private.public_key().public_bytes_raw()
        checksum = hashlib.blake2b(b"Ed" + self.number + pair, digest_size=32).digest()
        # No key derivation: its salt and limits are zeros.
        raw = b"Ed" + b"\0\0" + b"B2" + bytes(32 + 8 + 8) + self.number + pair + checksum
        return f"untrusted comment: minisign secret key, not encrypted\n{_encode(raw)}\n"

    @classmethod
    def parse(cls, text: str) -> Key:
        """Reads a secret key file.

        Raises:
            FleetError: when it is none, is damaged, or has a password.
        """
        raw = _decoded(text, 1, "secret key")
        if len(raw) != 158 or raw[:2] != b"Ed" or raw[4:6] != b"B2":
            raise FleetError("the file is no minisign secret key")
        if raw[2:4] != b"\0\0":
            raise FleetError("the secret key has a password: make one without, minisign -G -W or brisk-fleet keygen")
        number, pair, checksum = raw[54:62], raw[62:126], raw[126:]
        private = Ed25519PrivateKey.from_private_bytes(pair[:_RAW])
        # minisign 0.11 leaves the checksum of a key without a password zero.
        is_whole = checksum in (bytes(32), hashlib.blake2b(b"Ed" + number + pair, digest_size=32).digest())
        if not is_whole or private.public_key().public_bytes_raw() != pair[_RAW:]:
            raise FleetError("the secret key is damaged: its checksum or its public half is wrong")
        return cls(number, private)

    def sign(self, content: bytes, trusted_comment: str) -> str:
        """Gives the signature file of `content`; the comment is signed too."""
        signature = self._private.sign(hashlib.blake2b(content).digest())
        whole = self._private.sign(signature + trusted_comment.encode())
        lines = ("untrusted comment: signature by brisk-fleet", _encode(b"ED" + self.number + signature))
        return "\n".join((*lines, f"trusted comment: {trusted_comment}", _encode(whole))) + "\n"


def verify(public_text: str, content: bytes, signature_text: str) -> str:
    """Verifies `content`; gives the trusted comment.

    Raises:
        FleetError: when the signature is not that of this key over this content.
    """
    public, signature = _decoded(public_text, 1, "public key"), _decoded(signature_text, 1, "signature")
    lines = signature_text.splitlines()
    if len(lines) < 4 or not lines[2].startswith("trusted comment: ") or len(signature) != 74 or len(public) != 42:
        raise FleetError("the file is no minisign signature")
    comment = lines[2].removeprefix("trusted comment: ")
    if signature[2:10] != public[2:10]:
        raise FleetError("the signature is by another key")
    signed = hashlib.blake2b(content).digest() if signature[:2] == b"ED" else content
    key = Ed25519PublicKey.from_public_bytes(public[10:])
    try:
        key.verify(signature[10:], signed)
        key.verify(_decoded(signature_text, 3, "signature"), signature[10:] + comment.encode())
    except InvalidSignature as error:
        raise FleetError("the signature is wrong: the content or the comment was changed") from error
    return comment


def write_pair(path: Path) -> Path:
    """Writes a new pair: the secret key at `path`, for its owner alone, the public one beside it; gives the latter's
    path."""
    key = Key.generate()
    public = path.with_suffix(".pub")
    if public == path:
        raise FleetError(f"{path} is the name of a public key: name the secret one, such as {path.with_suffix('.key')}")
    try:
        with whole.made(path, 0o600) as file:
            file.write(key.secret_text().encode())
            with whole.made(public, 0o644) as other:
                other.write(key.public_text().encode())
        whole.flush(path.absolute().parent)
    except FileExistsError as error:
        raise FleetError(f"{error.filename} exists: a key is never overwritten") from error
    except OSError as error:
        raise FleetError(f"cannot write {path} and {public}: {error.strerror}") from error
    return public


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _decoded(text: str, line: int, what: str) -> bytes:
    try:
        return base64.b64decode(text.splitlines()[line], validate=True)
    except (IndexError, ValueError) as error:
        raise FleetError(f"the file is no minisign {what}") from error
