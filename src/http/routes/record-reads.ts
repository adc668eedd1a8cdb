import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { RecordPosition } from '../../db/records/search.ts'
import { ApiError } from '../../errors.ts'
import { findVisibleRemoteRecord, listRemoteRecordEntries } from '../../outside/federation/remote-records.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { findVisibleRecord } from '../../records/read/read.ts'
import { listRecords, parseFilters } from '../../records/read/search.ts'
import { findTree, listRecordEntries } from '../../records/write/lineage.ts'
import { etagOf, knownVersionsOf } from '../answers/conditions.ts'
import { formatCursor, type ListTag, listTag, pageLimit, parseCursor } from '../answers/page.ts'
import { sendJson, sendPage } from '../answers/send-json.ts'
import type { Deps } from '../deps.ts'
import { pathId } from '../path-id.ts'
import type { ReadSources } from '../reads/replica-connections.ts'
import { idParams } from '../schemas/common.ts'
import {
  recordEntriesCursor,
  recordEntriesPage,
  recordEntriesQuery,
  recordListCursor,
  recordListPage,
  recordListQuery,
  recordQuery,
  recordTree,
  recordTreeQuery,
} from '../schemas/record-reads.ts'
import { recordView } from '../schemas/records.ts'
import { RecordWaits } from '../tails/record-waits.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function recordReadRoutes(
  app: FastifyInstance,
  deps: Pick<
    Deps,
    | 'readPool'
    | 'searches'
    | 'lookups'
    | 'reads'
    | 'envelopeKeys'
    | 'admission'
    | 'slices'
    | 'callers'
    | 'log'
    | 'metrics'
    | 'now'
  >,
): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const waits = new RecordWaits(deps)
  app.addHook('preClose', async () => waits.close())
  const access = { scope: 'records:read', own: 'records:read:own' } as const

  typed.get(
    '/v1/records',
    {
      config: { reads: 'replica', access },
      schema: {
        summary: 'List records, newest first',
        querystring: recordListQuery,
        response: { 200: recordListPage },
      },
    },
    async (request, reply) => {
      const { limit: _limit, cursor: _cursor, order = 'desc', ...query } = request.query
      const filters = parseFilters(query, ownAgentOf(request))
      const list = listTag(request, { order })
      const search = {
        filters,
        order,
        after: positionOf(list, request.query),
        limit: pageLimit(request.query),
      }
      const { records, next } = await deps.reads.of(
        request,
        reply,
        (from) => listRecords({ ...deps, ...from }, request.caller.ledgerId, search),
        // A search with filters does not share its connection, because it may take seconds.
        { pool: 'search', shares: Object.keys(filters).length === 0 },
      )
      return sendPage(request, reply, deps.slices, {
        before: '{"data":[',
        items: records,
        after: `],"nextCursor":${cursorOf(list, next)}}`,
      })
    },
  )

  typed.get(
    '/v1/records/:id',
    {
      config: { reads: 'replica', access, problems: ['not_found', 'integrity_fault', 'overloaded'] },
      schema: {
        summary: 'Get a record, or wait for its next step',
        params: idParams,
        querystring: recordQuery,
        response: { 200: recordView, 304: z.undefined() },
      },
    },
    async (request, reply) => {
      const { ledgerId, recordId, ownAgent } = aboutOf(request, request.params.id)
      const { peer, wait = '0' } = request.query
      const isKnown = knownVersionsOf(request)
      const endsAtMs = performance.now() + Number(wait) * 1_000
      const read = async (from: ReadSources) => {
        const own =
          peer === undefined
            ? await findVisibleRecord({ ...deps, ...from }, ledgerId, recordId, ownAgent)
            : null
        const remote = () =>
          findVisibleRemoteRecord({ ...deps, ...from }, aboutRemote(request, recordId, peer))
        return found(own ?? (await remote()), request.params.id)
      }
      const answer = async (from: ReadSources) => {
        for (;;) {
          const { version, waitsForWorker, peerId, render } = await read(from)
          const isSame = isKnown === null ? waitsForWorker : isKnown(version)
          const msMax = endsAtMs - performance.now()
          const place = { ledgerId, recordId, peerId, version }
          if (isSame && msMax > 0 && (await waits.untilMoved(request, reply, place, msMax))) continue
          return { version, json: isKnown?.(version) ? null : await render() }
        }
      }
      const { version, json } = await deps.reads.of(request, reply, answer, {
        waits: wait !== '0',
        shares: true,
      })
      reply.header('etag', etagOf(version))
      return json === null ? reply.code(304).send() : sendJson(reply, json)
    },
  )

  typed.get(
    '/v1/records/:id/entries',
    {
      config: { reads: 'replica', access, problems: ['not_found'] },
      schema: {
        summary: 'List the entries of a record, oldest first, with the documents of its steps',
        params: idParams,
        querystring: recordEntriesQuery,
        response: { 200: recordEntriesPage },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const list = listTag(request)
      const cursor = parseCursor(list, request.query, recordEntriesCursor)
      const about = aboutOf(request, id)
      const page = { afterVersion: cursor?.[0] ?? 0, limit: pageLimit(request.query) }
      const { peer } = request.query
      const { entries, nextVersion } = await deps.reads.of(request, reply, async (from) => {
        const sources = { ...deps, ...from }
        const own = peer === undefined ? await listRecordEntries(sources, about, page) : null
        const remote = () =>
          listRemoteRecordEntries(sources, aboutRemote(request, about.recordId, peer), page)
        return found(own ?? (await remote()), id)
      })
      const next = nextVersion === null ? 'null' : `"${formatCursor(list, [nextVersion])}"`
      return sendPage(request, reply, deps.slices, {
        before: '{"data":[',
        items: entries,
        after: `],"nextCursor":${next}}`,
      })
    },
  )

  typed.get(
    '/v1/records/:id/tree',
    {
      config: { reads: 'replica', access, problems: ['not_found'] },
      schema: {
        summary: 'Get the tree of a record: its ancestors, and its children, newest first',
        params: idParams,
        querystring: recordTreeQuery,
        response: { 200: recordTree },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const about = aboutOf(request, id)
      const list = listTag(request)
      const page = { after: positionOf(list, request.query), limit: pageLimit(request.query) }
      const tree = await deps.reads.of(
        request,
        reply,
        async (from) => found(await findTree({ ...deps, ...from }, about, page), id),
        { pool: 'search' },
      )
      return sendPage(request, reply, deps.slices, {
        before: `{"record":${tree.record},"ancestors":[${tree.ancestors.join(',')}],"children":{"data":[`,
        items: tree.children,
        after: `],"nextCursor":${cursorOf(list, tree.next)}}}`,
      })
    },
  )
}

function aboutOf(request: FastifyRequest, id: string) {
  return { ledgerId: request.caller.ledgerId, recordId: pathId('rec', id), ownAgent: ownAgentOf(request) }
}

/** Identifies a record of another ledger. `peer`: the peer that must have sent the record. */
function aboutRemote({ caller, ownRecordsOnly }: FastifyRequest, recordId: Uuid, peer: string | undefined) {
  const { ledger, ledgerId, agentId } = caller
  const peerId = peer === undefined ? undefined : parseId('peer', peer)
  return { ledger, ledgerId, agentId, recordId, peerId, ownOnly: ownRecordsOnly }
}

function ownAgentOf({ ownRecordsOnly, caller }: FastifyRequest): Uuid | null {
  return ownRecordsOnly ? caller.agentId : null
}

function found<T>(result: T | null, id: string): T {
  if (result === null) throw new ApiError('not_found', `the ledger has no record ${id}`)
  return result
}

function positionOf(list: ListTag, query: { readonly cursor?: string | undefined }): RecordPosition | null {
  const cursor = parseCursor(list, query, recordListCursor)
  return cursor && { seq: cursor[0], index: cursor[1] }
}

/** Returns the next page's cursor as JSON text. Returns `null` as text if there is no next page. */
function cursorOf(list: ListTag, next: RecordPosition | null): string {
  return next === null ? 'null' : `"${formatCursor(list, [next.seq, next.index])}"`
}
