"""Key pairs for signing, as raw bytes. Does not use the ORM."""

from base64 import urlsafe_b64encode

from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    derive_private_key,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

Private = Ed25519PrivateKey | EllipticCurvePrivateKey
EDDSA = "EdDSA"
COORDINATE = 32  # bytes of a coordinate, and of a secret, of P-256
UNCOMPRESSED = 1  # length of the prefix before a point's coordinates (SEC 1, 2.3.3)


def generate(algorithm: str) -> tuple[bytes, bytes]:
    """Generate a key pair; return its public and private bytes."""
    if algorithm == EDDSA:
        own = Ed25519PrivateKey.generate()
        return own.public_key().public_bytes_raw(), own.private_bytes_raw()
    key = generate_private_key(SECP256R1())
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[UNCOMPRESSED:]
    return point, key.private_numbers().private_value.to_bytes(COORDINATE)


def load_private_key(algorithm: str, private: bytes) -> Private:
    if algorithm == EDDSA:
        return Ed25519PrivateKey.from_private_bytes(private)
    return derive_private_key(int.from_bytes(private), SECP256R1())


def jwk_of(algorithm: str, public: bytes) -> dict[str, str]:
    """Return the public key as a JSON Web Key (RFC 7518, RFC 8037)."""
    if algorithm == EDDSA:
        return {"kty": "OKP", "crv": "Ed25519", "x": encode_base64url(public)}
    return {
        "kty": "EC",
        "crv": "P-256",
        "x": encode_base64url(public[:COORDINATE]),
        "y": encode_base64url(public[COORDINATE:]),
    }


def encode_base64url(part: bytes) -> str:
    return urlsafe_b64encode(part).decode().rstrip("=")
