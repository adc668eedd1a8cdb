import type { FastifyInstance } from 'fastify'
import { findSharedRecords, listSharedRecords, type SharedRecordRow } from '../../db/peers/offers.ts'
import { findPeer } from '../../db/peers/peers.ts'
import { findReceivedType } from '../../db/peers/remote-records.ts'
import { ApiError } from '../../errors.ts'
import { offerOf } from '../../outside/federation/remote-records.ts'
import { formatId, parseId, type Uuid } from '../../proof/ids.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import {
  sharedRecordPage,
  sharedRecordParams,
  sharedRecordsCursor,
  sharedRecordsQuery,
  sharedRecordView,
} from '../schemas/shared-records.ts'
import type { ZodTypes } from '../zod-validation.ts'

export function sharedRecordRoutes(
  app: FastifyInstance,
  deps: Pick<Deps, 'readPool' | 'envelopeKeys'>,
): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const access = { scope: 'records:read' } as const

  typed.get(
    '/v1/peers/:id/records',
    {
      config: { reads: 'primary', access, problems: ['not_found'] },
      schema: {
        summary: 'List records shared with a peer, in both directions',
        params: idParams,
        querystring: sharedRecordsQuery,
        response: { 200: sharedRecordPage },
      },
    },
    async (request) => {
      const { caller, query } = request
      const peerId = pathId('peer', request.params.id)
      const limit = pageLimit(query)
      const list = listTag(request)
      const cursor = parseCursor(list, query, sharedRecordsCursor)
      if (!(await findPeer(deps.readPool, caller.ledgerId, peerId))) throw noPeer(request.params.id)
      const rows = await listSharedRecords(deps.readPool, caller.ledgerId, peerId, {
        after: cursor && { recordId: parseId('rec', cursor[0]), role: cursor[1] },
        limit: limit + 1,
      })
      return toPage(list, rows, limit, render, ({ id, role }) => [id, role])
    },
  )

  typed.get(
    '/v1/peers/:id/records/:record',
    {
      config: { reads: 'primary', access, problems: ['not_found'] },
      schema: {
        summary: 'Get a record shared with a peer, with the definition of its type if the peer sent it',
        params: sharedRecordParams,
        response: { 200: sharedRecordView },
      },
    },
    async (request) => {
      const { ledgerId } = request.caller
      const peerId = pathId('peer', request.params.id)
      const recordId = pathId('rec', request.params.record)
      const [row] = await findSharedRecords(deps.readPool, ledgerId, peerId, recordId)
      if (!row) throw new ApiError('not_found', `no record ${request.params.record} is shared with that peer`)
      return { ...render(row), typeDefinition: await findTypeDefinition(ledgerId, peerId, row) }
    },
  )

  async function findTypeDefinition(ledgerId: Uuid, peerId: Uuid, { created }: SharedRecordRow) {
    if (created === null) return null
    const { predicate } = deps.envelopeKeys.known.read(created)
    const digest = predicate['typeDigest'] as string
    const definition = await findReceivedType(deps.readPool, ledgerId, peerId, digest)
    return definition === null ? null : JSON.parse(definition)
  }
}

function noPeer(id: string): ApiError {
  return new ApiError('not_found', `the ledger has no peer ${id}`)
}

function render(row: SharedRecordRow) {
  return {
    id: formatId('rec', row.recordId),
    role: row.role,
    documents: row.documents,
    type: row.type,
    state: row.state,
    version: row.version,
    offer: offerOf(row),
  }
}
