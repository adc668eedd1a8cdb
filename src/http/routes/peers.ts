import type { FastifyInstance } from 'fastify'
import { listPeerDeadLetters, listPeerForks, replayPeer } from '../../db/peer-work.ts'
import { listPeers, type PeerRow } from '../../db/peers.ts'
import type { Deps } from '../../deps.ts'
import type { Identity } from '../../federation/identity.ts'
import { accept, changePeering, getPeer, invite } from '../../federation/peerings.ts'
import { toBase64 } from '../../proof/bytes.ts'
import { scopeOfEntry } from '../../proof/entry-scopes.ts'
import { formatId, parseId } from '../../proof/ids.ts'
import type { EntryKind } from '../../proof/kinds.ts'
import { idempotencyOf, markReplayed, refuseIdempotencyKey } from '../idempotency.ts'
import { pageLimit, parseCursor, toPage } from '../page.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import {
  addPeerBody,
  deadLetterPage,
  forkPage,
  leafCursor,
  newPeerView,
  peerPage,
  peerReason,
  peersCursor,
  peersQuery,
  peerView,
  replayAnswer,
  replayBody,
  seqCursor,
} from '../schemas/peers.ts'
import type { ZodTypes } from '../zod-validation.ts'

const access = { scope: scopeOfEntry('peer-suspended') } as const

/** The ledgers of other servers that this one shares records with. */
export function peerRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/peers',
    {
      config: {
        access,
        problems: ['invalid_idempotency_key', 'state_conflict', 'peer_exists', 'url_refused'],
      },
      schema: {
        summary: 'Invite a ledger of another server, or accept its invitation',
        body: addPeerBody,
        response: { 201: newPeerView, 202: newPeerView },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { name, invitation } = request.body
      if (invitation !== undefined) {
        // The worker carries it out: `state` says when it has.
        const peer = await accept(deps, request.caller, name, invitation)
        return reply.code(202).send({ ...render(peer), invitation: null })
      }
      const made = await invite(deps, request.caller, name)
      return reply.code(201).send({ ...render(made.peer), invitation: made.invitation })
    },
  )

  typed.get(
    '/v1/peers',
    {
      config: { access: { scope: ['peers:manage', 'records:read', 'audit:read'] } },
      schema: {
        summary: 'List peers, in the order in which they were invited',
        querystring: peersQuery,
        response: { 200: peerPage },
      },
    },
    async (request) => {
      const limit = pageLimit(request.query)
      const cursor = parseCursor(request.query, peersCursor)
      const after = cursor && parseId('peer', cursor[0])
      const rows = await listPeers(deps.readPool, request.caller.ledgerId, { after, limit: limit + 1 })
      return toPage(rows, limit, render, ({ id }) => [id])
    },
  )

  typed.get(
    '/v1/peers/:id',
    {
      config: { access: { scope: ['peers:manage', 'records:read', 'audit:read'] } },
      schema: { summary: 'A peer, and how far it has heard', params: idParams, response: { 200: peerView } },
    },
    async (request) => render(await getPeer(deps, request.caller, pathId('peer', request.params.id))),
  )

  const CHANGES = [
    ['suspend', 'suspended', 'Suspend a peering: nothing is sent, and nothing is taken, until it is resumed'],
    ['resume', 'resumed', 'Resume a peering that was suspended'],
    ['revoke', 'revoked', 'End a peering for good; the other side is told'],
  ] as const
  for (const [word, change, summary] of CHANGES) {
    typed.post(
      `/v1/peers/:id/${word}`,
      {
        config: { access, problems: ['state_conflict', 'idempotency_key_reused'] },
        schema: { summary, params: idParams, body: peerReason, response: { 200: peerView } },
      },
      async (request, reply) => {
        const { peer, replayed } = await changePeering(
          deps,
          request.caller,
          pathId('peer', request.params.id),
          { change, code: request.body.code ?? 'requested', idempotency: idempotencyOf(deps, request) },
        )
        return markReplayed(reply, replayed).send(render(peer))
      },
    )
  }

  deadLetterRoutes(app, deps)
}

function deadLetterRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.get(
    '/v1/peers/:id/dead-letters',
    {
      config: { access },
      schema: {
        summary: 'Entries that the other side refused, each with what it was sent',
        params: idParams,
        querystring: peersQuery,
        response: { 200: deadLetterPage },
      },
    },
    async (request) => {
      const { ledgerId } = request.caller
      const { peerId } = await getPeer(deps, request.caller, pathId('peer', request.params.id))
      const limit = pageLimit(request.query)
      const after = parseCursor(request.query, seqCursor)?.[0] ?? -1
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
      return toPage(rows, limit, renderOne, ({ seq }) => [seq])
    },
  )

  typed.post(
    '/v1/peers/:id/replay',
    {
      config: { access, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Send again what the other side refused, and what waits behind it',
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

  typed.get(
    '/v1/peers/:id/forks',
    {
      config: { access: { scope: ['peers:manage', 'audit:read'] } },
      schema: {
        summary: 'Entries of the other side that contradict what it sent before',
        params: idParams,
        querystring: peersQuery,
        response: { 200: forkPage },
      },
    },
    async (request) => {
      const { ledgerId } = request.caller
      const { peerId } = await getPeer(deps, request.caller, pathId('peer', request.params.id))
      const limit = pageLimit(request.query)
      const after = parseCursor(request.query, leafCursor)?.[0] ?? ''
      const rows = await listPeerForks(deps.readPool, { ledgerId, peerId }, { after, limit: limit + 1 })
      const renderOne = ({
        remoteSeq,
        recordId,
        heldLeaf,
        seenAt,
        envelope,
        ...row
      }: (typeof rows)[number]) => ({
        ...row,
        seq: remoteSeq,
        record: recordId && formatId('rec', recordId),
        held: heldLeaf,
        envelope: toBase64(envelope),
        seenAt: seenAt.toISOString(),
      })
      return toPage(rows, limit, renderOne, ({ leaf }) => [leaf])
    },
  )
}

function render(peer: PeerRow) {
  const other = peer.role === 'inviter' ? peer.invited : peer.inviter
  const { drain } = peer
  return {
    id: formatId('peer', peer.peerId),
    name: peer.name,
    role: peer.role,
    state: peer.state,
    createdAt: peer.createdAt.toISOString(),
    createdBy: formatId('agt', peer.createdBy),
    expiresAt: peer.expiresAt.toISOString(),
    remote: other === null ? null : (JSON.parse(other) as Identity),
    addedSeq: peer.addedSeq,
    drain: drain && {
      behind: Math.max(0, drain.size - drain.nextSeq),
      failures: drain.failures,
      failingSince: drain.failingSince?.toISOString() ?? null,
      lastError: drain.lastError,
      lastSuccessAt: drain.lastSuccessAt?.toISOString() ?? null,
      resumeAt: drain.resumeAt?.toISOString() ?? null,
      deadLetters: peer.deadLetters,
      forks: peer.forks,
    },
  }
}
