import type { FastifyInstance } from 'fastify'
import { listPeerDeadLetters, replayPeer } from '../../db/peers/shared-entries.ts'
import { readForks } from '../../outside/federation/forks.ts'
import { getPeer } from '../../outside/federation/peerings.ts'
import { toBase64 } from '../../proof/bytes.ts'
import { formatId } from '../../proof/ids.ts'
import type { EntryKind } from '../../proof/statement/kinds.ts'
import { formatCursor, listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import {
  deadLetterPage,
  forkPage,
  leafCursor,
  peersQuery,
  replayAnswer,
  replayBody,
  seqCursor,
} from '../schemas/peers.ts'
import type { ZodTypes } from '../zod-validation.ts'

const access = { scope: 'peers:manage' } as const

/** Serves dead letters and forks: entries that this ledger or its peer has refused. */
export function refusedByPeerRoutes(app: FastifyInstance, deps: Deps): void {
  deadLetterRoutes(app, deps)
  forkRoutes(app, deps)
}

function deadLetterRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.get(
    '/v1/peers/:id/dead-letters',
    {
      config: { reads: 'primary', access },
      schema: {
        summary: 'List entries that the peer refused (dead letters)',
        params: idParams,
        querystring: peersQuery,
        response: { 200: deadLetterPage },
      },
    },
    async (request) => {
      const { ledgerId } = request.caller
      const { peerId } = await getPeer(deps, request.caller, pathId('peer', request.params.id))
      const limit = pageLimit(request.query)
      const list = listTag(request)
      const after = parseCursor(list, request.query, seqCursor)?.[0] ?? -1
      const rows = await listPeerDeadLetters(deps.readPool, { ledgerId, peerId }, { after, limit: limit + 1 })
      const renderOne = ({ recordId, diedAt, entry, ...row }: (typeof rows)[number]) => ({
        ...row,
        record: recordId && formatId('rec', recordId),
        diedAt: diedAt.toISOString(),
        entry: {
          seq: entry.seq,
          kind: entry.kind as EntryKind,
          recordedAt: entry.recordedAt.toISOString(),
          leaf: entry.leaf.toString('hex'),
          chain: entry.chain.toString('hex'),
          envelope: toBase64(entry.envelope),
        },
      })
      return toPage(list, rows, limit, renderOne, ({ seq }) => [seq])
    },
  )

  typed.post(
    '/v1/peers/:id/replay',
    {
      config: { access, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Replay dead letters, and the entries that wait behind them',
        params: idParams,
        body: replayBody,
        response: { 200: replayAnswer },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const { ledgerId } = request.caller
      const { peerId } = await getPeer(deps, request.caller, pathId('peer', request.params.id))
      return { replayed: await replayPeer(deps.readPool, { ledgerId, peerId }, request.body.seqs ?? null) }
    },
  )
}

function forkRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.get(
    '/v1/peers/:id/forks',
    {
      config: { reads: 'primary', access: { scope: ['peers:manage', 'audit:read'] } },
      schema: {
        summary: 'List entries of the peer that contradict earlier ones (forks)',
        params: idParams,
        querystring: peersQuery,
        response: { 200: forkPage },
      },
    },
    async (request) => {
      const { ledgerId } = request.caller
      const peer = await getPeer(deps, request.caller, pathId('peer', request.params.id))
      const { peerId, remoteLedgerId } = peer
      if (remoteLedgerId === null) return { data: [], nextCursor: null }
      const list = listTag(request)
      const page = {
        after: parseCursor(list, request.query, leafCursor)?.[0] ?? '',
        limit: pageLimit(request.query),
      }
      const found = await readForks(deps, deps.readPool, { ledgerId, peerId, remoteLedgerId }, page)
      const data = found.forks.map(({ remoteSeq, recordId, heldLeaf, seenAt, envelope, ...row }) => ({
        ...row,
        seq: remoteSeq,
        record: recordId && formatId('rec', recordId),
        held: heldLeaf,
        envelope: toBase64(envelope),
        seenAt: seenAt.toISOString(),
      }))
      return { data, nextCursor: found.after && formatCursor(list, [found.after]) }
    },
  )
}
