"""Bundles: files that prove entries, with their documents, to anyone who has a key of the ledger."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Unpack

from ..._core import operations as ops
from ..._core.answers import Asked, parse_model, wrong_server
from ..._core.bundles import (
    AgentKeys,
    BundleRequest,
    Filter,
    Keys,
    Needs,
    Plan,
    Selection,
    Sent,
    Tree,
    Wanted,
    head_line,
    is_of_server,
    last_line,
    part_of_batch,
    proved_line,
    range_of,
    refuse_long_run,
    refuse_range,
    shown_line,
    text_of,
)
from ..._core.limits import BUNDLE_REQUESTS_MAX
from ..._core.lines import SentEntry
from ..._core.options import Call, CallOptions
from ...errors import UsageError
from ...types import EntryProof, LedgerRecord
from ..io import gather, make_file
from ..transport import AsyncTransport
from .agents import AsyncAgents
from .entries import AsyncEntries, sent_entries
from .records import AsyncRecords
from .statements import AsyncStatements


class AsyncBundle:
    """A bundle whose lines are requested while they are read.

    `async for line in bundle` yields its lines with their newlines. `await bundle.save('record.bundle')` writes a file.
    """

    def __init__(self, lines: Callable[[], AsyncGenerator[bytes]]) -> None:
        self._lines = lines

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._lines()

    async def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bundle to a file that only its owner may read.

        The file is written under a temporary name beside `path` and renamed when complete. A failure leaves no file.
        """
        part = f'{os.fspath(path)}.{os.getpid()}.part'
        file = await make_file(part)
        try:
            async with file, aclosing(self._lines()) as lines:
                async for line in lines:
                    await file.write(line)
            Path(part).replace(path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise


class AsyncBundles:
    """Bundles (docs/formats/bundles.md): files that prove entries, with their documents, to anyone who has a key of the ledger.

    The API key needs the scopes `audit:read` and `records:read`; a range without documents needs only `audit:read`.
    Nothing is verified here: `tallystick-verify` verifies the file.

    Options of all methods:
    - `size`: size of the checkpoint; by default the newest.
    - `documents`: False leaves the documents out.
    - `tool`: name and version of the program that makes the bundle.
    """

    def __init__(self, http: AsyncTransport) -> None:
        self._http = http
        self._records = AsyncRecords(http)
        self._entries = AsyncEntries(http)
        self._agents = AsyncAgents(http)
        self._statements = AsyncStatements(http)

    def record(
        self, id: str, *, size: int | None = None, documents: bool = True, tool: str | None = None, **options: Unpack[CallOptions]
    ) -> AsyncBundle:
        """Returns the bundle of a record, with all entries that the record has now."""
        return AsyncBundle(partial(self._record, id, BundleRequest(size, documents, tool, options)))

    def run(
        self, id: str, *, size: int | None = None, documents: bool = True, tool: str | None = None, **options: Unpack[CallOptions]
    ) -> AsyncBundle:
        """Returns the bundle of a run: a record and all records below it by `parent`, with the entries that they have now.

        Reading the bundle raises TallystickError if the run has more than 10,000 records.
        """
        return AsyncBundle(partial(self._run, id, BundleRequest(size, documents, tool, options)))

    def range(
        self,
        from_: int,
        to: int,
        *,
        size: int | None = None,
        documents: bool = True,
        tool: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncBundle:
        """Returns the bundle of the entries `from_` to `to`, both inclusive. Raises UsageError for an invalid range."""
        refuse_range(from_, to)
        return AsyncBundle(partial(self._range, from_, to, BundleRequest(size, documents, tool, options)))

    def filter(
        self,
        from_: int,
        to: int,
        *,
        type: str | None = None,
        agent: str | None = None,
        trace: str | None = None,
        size: int | None = None,
        documents: bool = True,
        tool: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncBundle:
        """Returns a bundle of the records that match all given filters, with their entries from `from_` to `to`.

        Only records that were created within this range are selected. `agent`: the actor of the record, the agent that it acts
        for, or the performer. `trace`: 32 hex digits. The bundle costs two requests for each entry shown, and two for each shown
        record of a batch. Raises UsageError for an invalid range, or without a filter.
        """
        refuse_range(from_, to)
        request = BundleRequest(size, documents, tool, options)
        return AsyncBundle(partial(self._filter, Filter(type, agent, trace), from_, to, request))

    async def _record(self, id: str, request: BundleRequest) -> AsyncGenerator[bytes]:
        plan = Plan()
        record = await self._records.get(id, **request.options)
        await self._plan(record, plan, request)
        async for line in self._selection({'record': id}, record.ledger, plan, request):
            yield line

    async def _run(self, id: str, request: BundleRequest) -> AsyncGenerator[bytes]:
        plan = Plan()
        root = await self._records.get(id, **request.options)
        records = [root]
        for record in records:
            await self._plan(record, plan, request)
            async for child in self._records.list(parent=record.id, order='asc', **request.options):
                records.append(child)
                refuse_long_run(len(records))
        async for line in self._selection({'run': id}, root.ledger, plan, request):
            yield line

    async def _range(self, start: int, to: int, request: BundleRequest) -> AsyncGenerator[bytes]:
        last = await self._prove(to, request.size, request)
        needs = await self._needs(start, to, request)
        tree = await self._tree(last, needs.agents, await self._policies_before(needs, request), request)
        first = await self._prove(start, tree.size, request)
        yield head_line(tree, {'range': range_of(start, to, first, last)}, 'complete', request)
        before = [Wanted(seq) for seq in tree.foundation if seq < start]
        async for text in self._proved(before, tree, request):
            yield text
        outside, seq = {each for each in tree.foundation if each > to}, start
        async with aclosing(self._stream(start, to + 1, request)) as entries:
            async for entry in entries:
                erased = (each.erased_by for each in entry.line.documents)
                outside |= {each for each in erased if each is not None and not start <= each <= to}
                yield text_of(shown_line(entry.sent, request))
                seq += 1
        if seq <= to:
            raise wrong_server(f'the entries ended before {seq}')
        async for text in self._proved([Wanted(seq) for seq in sorted(outside)], tree, request):
            yield text
        yield last_line(len(before) + to - start + 1 + len(outside))

    async def _filter(self, filter: Filter, start: int, to: int, request: BundleRequest) -> AsyncGenerator[bytes]:
        last = await self._prove(to, request.size, request)
        needs = await self._needs(start, to, request)
        tree = await self._tree(last, needs.agents, (), request)
        of = {'selection': {'from': start, 'to': to, **filter.given()}}
        yield head_line(tree, of, 'selection', request)
        selection, shown = Selection(filter, tree.foundation), 0
        ahead: list[Wanted] = []
        async with aclosing(self._stream(start, to + 1, request)) as entries:
            async for entry in entries:
                ahead += selection.take(entry.line)
                if len(ahead) >= BUNDLE_REQUESTS_MAX:
                    async for text in self._proved(ahead, tree, request):
                        yield text
                    shown += len(ahead)
                    ahead = []
        ahead += selection.rest()
        async for text in self._proved(ahead, tree, request):
            yield text
        yield last_line(shown + len(ahead))

    async def _plan(self, record: LedgerRecord, plan: Plan, request: BundleRequest) -> None:
        plan.take_record(record)
        if record.gated is not None:
            async for entry in self._records.entries(record.id, **request.options):
                plan.take_step(entry)

    async def _selection(self, of: Sent, home: str, plan: Plan, request: BundleRequest) -> AsyncGenerator[bytes]:
        tree = await self._tree(await self._prove(plan.top, request.size, request), plan.agents, (), request)
        if home != tree.ledger:
            raise UsageError(f"the record's home is {home}: make its bundle there")
        wanted = plan.wanted(tree.foundation)
        yield head_line(tree, of, 'selection', request)
        async for text in self._proved(wanted, tree, request):
            yield text
        yield last_line(len(wanted))

    async def _proved(self, wanted: Sequence[Wanted], tree: Tree, request: BundleRequest) -> AsyncGenerator[bytes]:
        """Yields the lines of the `wanted` entries, each with its path in the tree."""
        for at in range(0, len(wanted), BUNDLE_REQUESTS_MAX):
            part = wanted[at : at + BUNDLE_REQUESTS_MAX]
            for line in await gather([partial(self._line, each, tree, request) for each in part]):
                yield text_of(line)

    async def _line(self, wanted: Wanted, tree: Tree, request: BundleRequest) -> Sent:
        if wanted.ids is not None:
            return await self._part_of_batch(wanted.ids, tree, request)
        proof = await self._prove(wanted.seq, tree.size, request)
        async with aclosing(self._stream(wanted.seq, wanted.seq + 1, request)) as entries:
            async for entry in entries:
                return proved_line(entry.sent, proof.path, request)
        raise wrong_server(f'the server has no entry {wanted.seq}')

    async def _part_of_batch(self, ids: Iterable[str], tree: Tree, request: BundleRequest) -> Sent:
        proofs: list[Sent] = []
        records: list[LedgerRecord] = []
        # The records of a batch are in the order of their ids.
        for id in sorted(ids):
            call = Call(params={'id': id}, query={'size': tree.size}, options=request.options)
            proof = await self._http.plain(ops.GET_RECORDS_BY_ID_PROOF, call)
            parse_model(EntryProof, proof, Asked('GET /v1/records/{id}/proof', None, True))
            proofs.append(proof)
            records.append(await self._records.get(id, **request.options))
        return part_of_batch(proofs, records, tree, request)

    async def _needs(self, start: int, to: int, request: BundleRequest) -> Needs:
        needs = Needs(start, to)
        async with aclosing(self._stream(start, to + 1, request)) as entries:
            async for entry in entries:
                needs.take(entry.line)
        return needs

    async def _policies_before(self, needs: Needs, request: BundleRequest) -> list[int]:
        """Returns a list with the seq of the current registration policy, if statements in the range
        were registered under this policy and the policy precedes the range. Otherwise returns an
        empty list.

        Earlier policies are not searched for.
        """
        if not needs.policies:
            return []
        policy = await self._statements.policy(**request.options)
        return [policy.seq] if policy.leaf in needs.policies and policy.seq < needs.start else []

    def _stream(self, start: int, end: int, request: BundleRequest) -> AsyncGenerator[SentEntry]:
        """Streams the entries from `start` up to `end`, which is excluded."""
        return sent_entries(self._http, start - 1, end - start, False, request.options)

    async def _prove(self, seq: int, size: int | None, request: BundleRequest) -> EntryProof:
        return await self._entries.proof(seq, size=size, **request.options)

    async def _tree(self, proof: EntryProof, agents: Iterable[str], more: Iterable[int], request: BundleRequest) -> Tree:
        """Returns the tree to which a proof belongs.

        Its `foundation` lists the first entry of the ledger, the entries that end a ledger key, the
        entries about the signing keys of `agents`, and the entries `more`.
        """
        size, keys, agent_keys = proof.tree_size, Keys(), AgentKeys(proof.tree_size)
        last = await self._last_of_server(size, request)
        first_kid = await self._kid_at(0, size, keys, request)
        last_kid = await self._kid_at(last, size, keys, request)
        rotations = await self._rotations((0, first_kid), (last, last_kid), size, keys, request)
        for agent in agents:
            async for key in self._agents.list_signing_keys(agent, **request.options):
                agent_keys.take(key)
        foundation = sorted({0, *rotations, *agent_keys.seqs, *more})
        return Tree(proof.ledger.id, size, proof.checkpoint, [*keys.found.values()], foundation, agent_keys.signers)

    async def _kid_at(self, seq: int, size: int, keys: Keys, request: BundleRequest) -> str:
        return keys.take(await self._prove(seq, size, request))

    async def _rotations(self, start: tuple[int, str], end: tuple[int, str], size: int, keys: Keys, request: BundleRequest) -> list[int]:
        """Returns the seqs of the key rotations between the entries `start` and `end`. Each of the two
        is given as its seq and the kid of the ledger's key at that entry.

        A replaced key never returns. Therefore no rotation lies between two entries with the same
        key.
        """
        if start[1] == end[1]:
            return []
        middle = (start[0] + end[0] + 1) // 2
        # The server signs rotations itself. An interval without an entry of the server therefore contains no
        # rotation.
        seq = await self._next_of_server(middle, end[0], request)
        if seq is None:
            return [start[0]] if end[0] - start[0] == 1 else await self._rotations(start, (middle, end[1]), size, keys, request)
        between = seq, await self._kid_at(seq, size, keys, request)
        before = await self._rotations(start, between, size, keys, request)
        return before + await self._rotations(between, end, size, keys, request)

    async def _next_of_server(self, start: int, end: int, request: BundleRequest) -> int | None:
        """Returns the seq of the first entry that the server signed, from `start` up to `end`,
        excluded. Returns None if agents signed all of these entries.
        """
        async with aclosing(self._stream(start, end, request)) as entries:
            async for entry in entries:
                if is_of_server(entry.line):
                    return entry.line.seq
        return None

    async def _last_of_server(self, end: int, request: BundleRequest) -> int:
        """Returns the seq of the last entry before `end` that the server signed. It always exists,
        because the server signs a ledger's first entry.
        """
        span = 1
        while True:
            start = max(0, end - span)
            last: int | None = None
            async with aclosing(self._stream(start, end, request)) as entries:
                async for entry in entries:
                    last = entry.line.seq if is_of_server(entry.line) else last
            if last is not None:
                return last
            if start == 0:
                raise wrong_server('the server answered that no entry is signed')
            span *= 2
