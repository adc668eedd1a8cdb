import type { FastifyInstance, FastifyRequest } from 'fastify'
import { setPeerBudget } from '../../db/peers/peer-budgets.ts'
import { listPeers, type PeerRow } from '../../db/peers/peers.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { budgetOf } from '../../outside/federation/budget.ts'
import { countForksOf } from '../../outside/federation/forks.ts'
import type { Identity } from '../../outside/federation/identity.ts'
import { accept, changePeering, getPeer, invite } from '../../outside/federation/peerings.ts'
import { witnessKeyText } from '../../outside/federation/witness-peer.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { formatId, parseId } from '../../proof/ids.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { idempotencyOf, markReplayed, refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import {
  addPeerBody,
  newPeerView,
  peerBudgetBody,
  peerPage,
  peerReason,
  peersCursor,
  peersQuery,
  peerView,
} from '../schemas/peers.ts'
import type { ZodTypes } from '../zod-validation.ts'
import { refusedByPeerRoutes } from './peer-refusals.ts'

const access = { scope: scopeOfEntry('peer-suspended') } as const

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
        // The worker completes the peering later, and `state` changes then.
        const peer = await accept(deps, request.caller, name, invitation)
        return reply.code(202).send({ ...(await show(request, peer)), invitation: null })
      }
      const made = await invite(deps, request.caller, name)
      return reply.code(201).send({ ...(await show(request, made.peer)), invitation: made.invitation })
    },
  )

  typed.get(
    '/v1/peers',
    {
      config: { reads: 'primary', access: { scope: ['peers:manage', 'records:read', 'audit:read'] } },
      schema: {
        summary: 'List peers, oldest first',
        querystring: peersQuery,
        response: { 200: peerPage },
      },
    },
    async (request) => {
      const limit = pageLimit(request.query)
      const list = listTag(request)
      const cursor = parseCursor(list, request.query, peersCursor)
      const after = cursor && parseId('peer', cursor[0])
      const rows = await listPeers(deps.readPool, request.caller.ledgerId, { after, limit: limit + 1 })
      const shown = await Promise.all(rows.map((row) => show(request, row)))
      return toPage(
        list,
        shown,
        limit,
        (peer) => peer,
        ({ id }) => [id],
      )
    },
  )

  typed.get(
    '/v1/peers/:id',
    {
      config: { reads: 'primary', access: { scope: ['peers:manage', 'records:read', 'audit:read'] } },
      schema: { summary: 'Get a peer and its progress', params: idParams, response: { 200: peerView } },
    },
    async (request) => show(request, await getPeer(deps, request.caller, pathId('peer', request.params.id))),
  )

  const CHANGES = [
    ['suspend', 'suspended', 'Suspend a peering: nothing is sent or received until it is resumed'],
    ['resume', 'resumed', 'Resume a suspended peering'],
    ['revoke', 'revoked', 'End a peering for good; the other side is notified'],
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
        return markReplayed(reply, replayed).send(await show(request, peer))
      },
    )
  }

  typed.put(
    '/v1/peers/:id/budget',
    {
      config: { access, problems: ['invalid_idempotency_key'] },
      schema: {
        summary: 'Set the daily storage budget of a peer',
        params: idParams,
        body: peerBudgetBody,
        response: { 200: peerView },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const { ledgerId } = request.caller
      const { peerId } = await getPeer(deps, request.caller, pathId('peer', request.params.id))
      await setPeerBudget(deps.readPool, { ledgerId, peerId }, request.body.budget)
      return show(request, await getPeer(deps, request.caller, peerId))
    },
  )

  refusedByPeerRoutes(app, deps)

  async function show({ caller }: FastifyRequest, peer: PeerRow) {
    const forks = await countForksOf(deps, caller, peer)
    return { ...render(peer, forks), witness: renderWitness(caller, peer) }
  }

  function renderWitness({ ledgerId }: Caller, { peerId, role, inviter, invited, witness }: PeerRow) {
    if (invited === null) return null
    const { origin } = JSON.parse(role === 'inviter' ? inviter : invited) as Identity
    const signer = deps.peerWitnessKeys?.of({ ledgerId, peerId })
    return {
      ...(witness ?? { key: null, cosignedSize: 0, seenSize: 0, fork: null }),
      ownKey: signer ? witnessKeyText(origin, signer) : null,
    }
  }
}

function render(peer: PeerRow, forks: number) {
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
      forks,
    },
    budget: renderBudget(peer),
  }
}

function renderBudget({ budget }: PeerRow) {
  const { entriesUsed, entriesPerDay, bytesUsed, bytesPerDay, resetsAt } = budgetOf(budget)
  return {
    entries: { used: entriesUsed, perDay: entriesPerDay },
    bytes: { used: bytesUsed, perDay: bytesPerDay },
    resetsAt: resetsAt?.toISOString() ?? null,
  }
}
