# Made by `npm run docs` from src/proof/request-limits.ts, which says what each is; not to be edited.

from typing import Final

BATCH_PARENTS_MAX: Final = 64
BATCH_TYPES_MAX: Final = 32
DOCUMENT_BYTES_MAX: Final = 65_536
GATED_REVISIONS_DEFAULT: Final = 3
IDEMPOTENCY_KEY_CHARS_MAX: Final = 255
JSON_DEPTH_MAX: Final = 32
METADATA_BYTES_MAX: Final = 4_096
REFERENCES_BYTES_MAX: Final = 4_096
REFERENCE_CHARS_MAX: Final = 256
