"""Generates the bodies that /openapi.json describes only as bytes."""

import schemathesis
from hypothesis import strategies

TAG_18 = b"\xd2\x84"  # Tag of COSE_Sign1, and the start of its array of four (RFC 9052, section 4.2).

schemathesis.openapi.media_type(
    "application/cose",
    strategies.one_of(
        strategies.binary(max_size=512),
        strategies.binary(max_size=512).map(lambda rest: TAG_18 + rest),
    ),
)
