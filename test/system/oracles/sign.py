"""Signs a statement as in RFC 9943, with third-party CBOR and COSE. Prints the key as DER in base64. Usage: sign.py ALG KID PAYLOAD FILE
"""

import base64
import sys

from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from pycose.algorithms import EdDSA, Es256
from pycose.headers import Algorithm, ContentType, KID
from pycose.keys import EC2Key, OKPKey
from pycose.keys.curves import Ed25519, P256
from pycose.messages import Sign1Message

CWT_CLAIMS = 15


def main(alg: str, kid: str, payload: str, file: str) -> None:
    if alg == "EdDSA":
        private = ed25519.Ed25519PrivateKey.generate()
        secret = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        key = OKPKey(crv=Ed25519, d=secret, x=private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
    else:
        private = ec.generate_private_key(ec.SECP256R1())
        numbers = private.private_numbers()
        point = numbers.public_numbers
        key = EC2Key(crv=P256, d=numbers.private_value.to_bytes(32), x=point.x.to_bytes(32), y=point.y.to_bytes(32))
    # The members are not in deterministic order, because COSE does not require it.
    header = {
        CWT_CLAIMS: {2: "pkg:generic/copper@1", 1: "https://build.example"},
        KID: kid.encode(),
        ContentType: "application/spdx+json",
        Algorithm: EdDSA if alg == "EdDSA" else Es256,
    }
    message = Sign1Message(phdr=header, uhdr={}, payload=payload.encode(), key=key)
    with open(file, "wb") as opened:
        opened.write(message.encode())
    spki = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    print(base64.b64encode(spki).decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
