# Made by `npm run python -- generate`; not to be edited.
"""The client of a ledger, and the client of a server's operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from .._core import operations as ops
from .._core.limits import RETRIES_MAX, TIMEOUT_SECONDS
from .._core.options import Call, CallOptions
from .._core.requests import require_key
from .._core.settings import API_KEY_VARIABLE, RETRY_DELAYS, RetryDelays, environment, make_settings
from ..types import KeyDocument
from .io import ApiKey, HttpClient
from .resources.agents import Agents
from .resources.audits import Audits
from .resources.batches import Batches
from .resources.bundles import Bundles
from .resources.checkpoints import Checkpoints
from .resources.entries import Entries, Exports
from .resources.events import Events
from .resources.health import Health
from .resources.keys import Keys
from .resources.ledgers import Ledger, Ledgers
from .resources.peers import Peers
from .resources.records import Records
from .resources.retention import Holds, Retention
from .resources.statements import Statements
from .resources.subjects import Subjects
from .resources.types import RecordTypes
from .resources.webhooks import Webhooks
from .transport import Transport

if TYPE_CHECKING:
    from .._core.options import RequestSigner
    from ..notarizer import Notarizer, NotarizerOptions


class _Closing:
    _http: Transport

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that this client made. An `http_client` of the caller stays open."""
        self._http.close()

    def __repr__(self) -> str:
        return f'{type(self).__name__}(base_url={self._http.settings.base_url!r})'


class Tallystick(_Closing):
    """A client of a ledger, with an API key of one of its agents.

        with Tallystick() as tallystick:
            record = tallystick.records.notarize(payload={'tool': 'search', 'query': 'price of copper'})

    - `base_url`: by default TALLYSTICK_URL, otherwise http://localhost:3000.
    - `api_key`: by default TALLYSTICK_API_KEY. A function is called before each attempt, for keys that are rotated at run time.
    - `timeout`: seconds for each attempt.
    - `retry_delays`: the shortest and the longest wait between two attempts, in seconds.
    - `http_client`: a client of your own, for a proxy or a pool. It is not closed.
    - `signer`: signs the agent's calls with its own key.

    Raises UsageError if there is no key, or if an argument is invalid.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: ApiKey | None = None,
        timeout: float = TIMEOUT_SECONDS,
        max_retries: float = RETRIES_MAX,
        retry_delays: RetryDelays = RETRY_DELAYS,
        http_client: HttpClient | None = None,
        signer: RequestSigner | None = None,
    ) -> None:
        settings = make_settings(base_url, timeout, max_retries, retry_delays)
        key = api_key if api_key is not None else environment(API_KEY_VARIABLE) or ''
        if isinstance(key, str):
            require_key(key)
        self._http = Transport(settings, key, http_client, signer)
        self.records = Records(self._http)
        self.batches = Batches(self._http)
        self.types = RecordTypes(self._http)
        self.agents = Agents(self._http)
        self.keys = Keys(self._http)
        self.ledger = Ledger(self._http)
        self.entries = Entries(self._http)
        self.exports = Exports(self._http)
        self.events = Events(self._http)
        self.bundles = Bundles(self._http)
        self.checkpoints = Checkpoints(self._http)
        self.audits = Audits(self._http)
        self.webhooks = Webhooks(self._http)
        self.peers = Peers(self._http)
        self.statements = Statements(self._http)
        self.retention = Retention(self._http)
        self.holds = Holds(self._http)
        self.subjects = Subjects(self._http)
        self.health = Health(self._http)

    def key_document(self, **options: Unpack[CallOptions]) -> KeyDocument:
        """`GET /.well-known/tallystick-keys.json`: returns the keys that sign envelopes. They are as trustworthy as the connection."""
        operation = ops.GET_WELL_KNOWN_TALLYSTICK_KEYS_JSON
        return self._http.json(KeyDocument, operation, Call(options=options))

    def notarizer(self, **options: Unpack[NotarizerOptions]) -> Notarizer:
        """Returns a notarizer, which records in batches: `notarizer.record(payload)` returns without waiting for the server."""
        from ..notarizer import Notarizer

        return Notarizer(self._http, **options)


class TallystickOperator(_Closing):
    """A client of a server's operator: creates ledgers, freezes them, and issues their first keys.

        with TallystickOperator(operator_key='tlo_…') as operator:
            made = operator.ledgers.create(name='purchasing')

    `operator_key` is the one operator key of the server. It is never read from the environment, because agents read their keys
    there. Raises UsageError for invalid arguments.
    """

    def __init__(
        self,
        *,
        operator_key: ApiKey,
        base_url: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        max_retries: float = RETRIES_MAX,
        retry_delays: RetryDelays = RETRY_DELAYS,
        http_client: HttpClient | None = None,
    ) -> None:
        settings = make_settings(base_url, timeout, max_retries, retry_delays)
        if isinstance(operator_key, str):
            require_key(operator_key)
        self._http = Transport(settings, operator_key, http_client, None)
        self.ledgers = Ledgers(self._http)
        self.health = Health(self._http)
