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
from .resources.agents import AsyncAgents
from .resources.audits import AsyncAudits
from .resources.batches import AsyncBatches
from .resources.bundles import AsyncBundles
from .resources.checkpoints import AsyncCheckpoints
from .resources.entries import AsyncEntries, AsyncExports
from .resources.events import AsyncEvents
from .resources.health import AsyncHealth
from .resources.keys import AsyncKeys
from .resources.ledgers import AsyncLedger, AsyncLedgers
from .resources.peers import AsyncPeers
from .resources.records import AsyncRecords
from .resources.retention import AsyncHolds, AsyncRetention
from .resources.statements import AsyncStatements
from .resources.subjects import AsyncSubjects
from .resources.types import AsyncRecordTypes
from .resources.webhooks import AsyncWebhooks
from .transport import AsyncTransport

if TYPE_CHECKING:
    from .._core.options import RequestSigner
    from ..notarizer import AsyncNotarizer, NotarizerOptions


class _Closing:
    _http: AsyncTransport

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections that this client made. An `http_client` of the caller stays open."""
        await self._http.aclose()

    def __repr__(self) -> str:
        return f'{type(self).__name__}(base_url={self._http.settings.base_url!r})'


class AsyncTallystick(_Closing):
    """A client of a ledger, with an API key of one of its agents.

        async with AsyncTallystick() as tallystick:
            record = await tallystick.records.notarize(payload={'tool': 'search', 'query': 'price of copper'})

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
        self._http = AsyncTransport(settings, key, http_client, signer)
        self.records = AsyncRecords(self._http)
        self.batches = AsyncBatches(self._http)
        self.types = AsyncRecordTypes(self._http)
        self.agents = AsyncAgents(self._http)
        self.keys = AsyncKeys(self._http)
        self.ledger = AsyncLedger(self._http)
        self.entries = AsyncEntries(self._http)
        self.exports = AsyncExports(self._http)
        self.events = AsyncEvents(self._http)
        self.bundles = AsyncBundles(self._http)
        self.checkpoints = AsyncCheckpoints(self._http)
        self.audits = AsyncAudits(self._http)
        self.webhooks = AsyncWebhooks(self._http)
        self.peers = AsyncPeers(self._http)
        self.statements = AsyncStatements(self._http)
        self.retention = AsyncRetention(self._http)
        self.holds = AsyncHolds(self._http)
        self.subjects = AsyncSubjects(self._http)
        self.health = AsyncHealth(self._http)

    async def key_document(self, **options: Unpack[CallOptions]) -> KeyDocument:
        """`GET /.well-known/tallystick-keys.json`: returns the keys that sign envelopes. They are as trustworthy as the connection."""
        operation = ops.GET_WELL_KNOWN_TALLYSTICK_KEYS_JSON
        return await self._http.json(KeyDocument, operation, Call(options=options))

    def notarizer(self, **options: Unpack[NotarizerOptions]) -> AsyncNotarizer:
        """Returns a notarizer, which records in batches: `notarizer.record(payload)` returns without waiting for the server."""
        from ..notarizer import AsyncNotarizer

        return AsyncNotarizer(self._http, **options)


class AsyncTallystickOperator(_Closing):
    """A client of a server's operator: creates ledgers, freezes them, and issues their first keys.

        async with AsyncTallystickOperator(operator_key='tlo_…') as operator:
            made = await operator.ledgers.create(name='purchasing')

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
        self._http = AsyncTransport(settings, operator_key, http_client, None)
        self.ledgers = AsyncLedgers(self._http)
        self.health = AsyncHealth(self._http)
