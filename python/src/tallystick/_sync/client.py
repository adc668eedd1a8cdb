# Made by `npm run python -- generate`; not to be edited.
"""The client of a ledger, and that of a server's operator."""

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
        """Closes the connections; those of an `http_client` that was given stay open."""
        self._http.close()

    def __repr__(self) -> str:
        return f'{type(self).__name__}(base_url={self._http.settings.base_url!r})'


class Tallystick(_Closing):
    """A ledger, through the API key of one of its agents.

        with Tallystick() as tallystick:
            record = tallystick.records.notarize(payload={'tool': 'search', 'query': 'price of copper'})

    Arguments that are not given come from TALLYSTICK_URL (otherwise http://localhost:3000) and TALLYSTICK_API_KEY. `api_key` may be a
    function, asked before each attempt, for a key that is rotated while the process runs. `timeout`: seconds for each attempt.
    `retry_delays`: the shortest and the longest wait between two attempts, in seconds. `http_client`: one of your own, for a proxy or
    a pool; it is not closed. `signer`: signs what the agent does with a key of its own. Raises UsageError if there is no key.
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
        """`GET /.well-known/tallystick-keys.json`: the keys that sign envelopes, as trustworthy as the connection."""
        operation = ops.GET_WELL_KNOWN_TALLYSTICK_KEYS_JSON
        return self._http.json(KeyDocument, operation, Call(options=options))

    def notarizer(self, **options: Unpack[NotarizerOptions]) -> Notarizer:
        """Records in batches, for a hot loop that does not wait for the server: `notarizer.record(payload)` returns at once."""
        from ..notarizer import Notarizer

        return Notarizer(self._http, **options)


class TallystickOperator(_Closing):
    """A server, through its operator's key: makes ledgers, freezes them, and gives out their first keys.

        with TallystickOperator(operator_key='tlo_…') as operator:
            made = operator.ledgers.create(name='purchasing')

    `operator_key` is the server's, of which there is one. It is not read from the environment, where agents find theirs.
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
