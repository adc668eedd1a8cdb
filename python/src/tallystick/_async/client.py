"""The client of a ledger, and that of a server's operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from .._core.limits import RETRIES_MAX, TIMEOUT_SECONDS
from .._core.requests import require_key
from .._core.settings import API_KEY_VARIABLE, RETRY_DELAYS, RetryDelays, environment, make_settings
from .io import ApiKey, HttpClient
from .resources.batches import AsyncBatches
from .resources.records import AsyncRecords
from .transport import AsyncTransport

if TYPE_CHECKING:
    from .._core.options import RequestSigner
    from ..notarizer import AsyncNotarizer, NotarizerOptions
    from .raw import AsyncTallystickWithRawResponse


class _Closing:
    _http: AsyncTransport

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections; those of an `http_client` that was given stay open."""
        await self._http.aclose()

    def __repr__(self) -> str:
        return f'{type(self).__name__}(base_url={self._http.settings.base_url!r})'


class AsyncTallystick(_Closing):
    """A ledger, through the API key of one of its agents.

        async with AsyncTallystick() as tallystick:
            record = await tallystick.records.notarize(payload={'tool': 'search', 'query': 'price of copper'})

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
        self._http = AsyncTransport(settings, key, http_client, signer)
        self.records = AsyncRecords(self._http)
        self.batches = AsyncBatches(self._http)

    def notarizer(self, **options: Unpack[NotarizerOptions]) -> AsyncNotarizer:
        """Records in batches, for a hot loop that does not wait for the server: `notarizer.record(payload)` returns at once."""
        from ..notarizer import AsyncNotarizer

        return AsyncNotarizer(self._http, **options)

    @property
    def with_raw_response(self) -> AsyncTallystickWithRawResponse:
        """The same methods, answering a RawResponse: `tallystick.with_raw_response.records.get(id)` has `.headers`, `.text` and
        `.parsed`.
        """
        from .raw import AsyncTallystickWithRawResponse

        return AsyncTallystickWithRawResponse(self)
