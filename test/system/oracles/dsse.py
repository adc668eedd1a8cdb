"""Verifies a statement in DSSE with securesystemslib, and reads it with in-toto's library. Usage: dsse.py FILE PUBLIC_KEY_PEM"""

import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey


def main(file: str, pem: str) -> None:
    with open(file, encoding="utf-8") as opened:
        envelope = Envelope.from_dict(json.load(opened))
    with open(pem, "rb") as opened:
        key = SSlibKey.from_crypto(load_pem_public_key(opened.read()))
    envelope.verify([key], threshold=1)
    assert envelope.payload_type == "application/vnd.in-toto+json"

    message = json_format.Parse(envelope.payload, statement_pb2.Statement())
    statement = Statement.copy_from_pb(message)
    statement.validate()
    (subject, *_) = statement.pb.subject
    print(f"securesystemslib, in-toto-attestation: {statement.pb.predicate_type} of {subject.name}, by {key.keytype}")


if __name__ == "__main__":
    main(*sys.argv[1:])
