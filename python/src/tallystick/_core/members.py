# Made by `npm run docs` from src/proof/statement/record-members.ts; not to be edited.

from collections.abc import Mapping
from typing import Final, TypedDict

SIGNED_MEMBERS: Final = (
    'onBehalfOf',
    'occurredAt',
    'traceparent',
    'parent',
    'references',
)
"""Optional members of records, by the server's names, in the order in which statements have them."""


class OtherMembers(TypedDict, total=False):
    """Members that are signed unchanged."""


OTHER_MEMBERS: Final[Mapping[str, str]] = {}
"""Names of these members in the API, by argument."""


class OtherFilters(TypedDict, total=False):
    """Filters of a search by these members."""
