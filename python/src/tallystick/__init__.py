"""Tallystick: an accountability ledger for fleets of AI agents. `Tallystick` is the client, `tallystick.verify` the verifier.

from tallystick import Tallystick

record = Tallystick().records.notarize(payload={'tool': 'search', 'query': 'price of copper'})
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.client import AsyncTallystick as AsyncTallystick
    from ._async.client import AsyncTallystickOperator as AsyncTallystickOperator
    from ._async.listing import AsyncListing as AsyncListing
    from ._core.options import RequestSigner as RequestSigner
    from ._core.pages import Page as Page
    from ._core.tailed import TailedEvent as TailedEvent
    from ._sync.client import Tallystick as Tallystick
    from ._sync.client import TallystickOperator as TallystickOperator
    from ._sync.listing import Listing as Listing
    from .errors import ApiError as ApiError
    from .errors import AuthenticationError as AuthenticationError
    from .errors import ConflictError as ConflictError
    from .errors import ConnectionError as ConnectionError
    from .errors import InvalidRequestError as InvalidRequestError
    from .errors import NotFoundError as NotFoundError
    from .errors import OutcomeUnknownError as OutcomeUnknownError
    from .errors import PermissionError as PermissionError
    from .errors import RateLimitError as RateLimitError
    from .errors import SecretLostError as SecretLostError
    from .errors import ServerError as ServerError
    from .errors import TallystickError as TallystickError
    from .errors import TimeoutError as TimeoutError
    from .errors import UnavailableError as UnavailableError
    from .errors import UnexpectedAnswerError as UnexpectedAnswerError
    from .errors import UnknownOutcomeError as UnknownOutcomeError
    from .errors import UsageError as UsageError

__version__ = '0.1.0'

_MODULES = {
    'Tallystick': '._sync.client',
    'TallystickOperator': '._sync.client',
    'AsyncTallystick': '._async.client',
    'AsyncTallystickOperator': '._async.client',
    'Listing': '._sync.listing',
    'AsyncListing': '._async.listing',
    'Page': '._core.pages',
    'TailedEvent': '._core.tailed',
    'RequestSigner': '._core.options',
}


def __getattr__(name: str) -> object:
    """Imports a public name when it is first used. So `tallystick.verify` loads neither the HTTP
    client nor the models.
    """
    module = _MODULES.get(name) or ('.errors' if name.endswith('Error') else None)
    if module is None:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value: object = getattr(import_module(module, __name__), name)
    globals()[name] = value
    return value
