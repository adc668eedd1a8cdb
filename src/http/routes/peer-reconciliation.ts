import type { FastifyInstance } from 'fastify'
import {
  type PeerReconciliation,
  reconcilePeer,
  requestSummary,
} from '../../outside/federation/reconciliation.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams, noMembers } from '../schemas/common.ts'
import { reconciliationView } from '../schemas/peer-reconciliation.ts'
import type { ZodTypes } from '../zod-validation.ts'

const access = { scope: ['peers:manage', 'audit:read'] } as const

export function peerReconciliationRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.get(
    '/v1/peers/:id/reconciliation',
    {
      config: { reads: 'primary', access },
      schema: {
        summary: 'Get the reconciliation with a peer',
        params: idParams,
        response: { 200: reconciliationView },
      },
    },
    async (request) => {
      const peerId = pathId('peer', request.params.id)
      return render(await reconcilePeer(deps, { ledgerId: request.caller.ledgerId, peerId }))
    },
  )

  typed.post(
    '/v1/peers/:id/reconciliation',
    {
      config: { access, problems: ['state_conflict', 'invalid_idempotency_key'] },
      schema: {
        summary: 'Request a new reconciliation with a peer',
        params: idParams,
        body: noMembers,
        response: { 202: reconciliationView },
      },
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const peerId = pathId('peer', request.params.id)
      const asked = await requestSummary(deps, { ledgerId: request.caller.ledgerId, peerId })
      return reply.code(202).send(render(asked))
    },
  )
}

function render({ peer, state, reasons, counts, summary, isRequested }: PeerReconciliation) {
  return {
    peer,
    state,
    reconciled: reasons.length === 0,
    reasons: [...reasons],
    sent: {
      records: counts.sentRecords,
      entries: counts.sentEntries,
      acknowledged: counts.acknowledged,
      inFlight: counts.sentEntries - counts.acknowledged,
      deadLetters: counts.deadLetters,
    },
    received: { records: counts.receivedRecords, entries: counts.receivedEntries, forks: counts.forks },
    offers: {
      made: { pending: counts.offersPending, taken: counts.offersTaken, refused: counts.offersRefused },
      answered: { taken: counts.answersTaken, refused: counts.answersRefused },
    },
    summary: summary && {
      at: summary.at.toISOString(),
      whole: summary.isWhole,
      records: summary.records,
      faults: summary.faults,
      behind: summary.behind,
      differences: [...summary.differences],
    },
    asking: isRequested,
  }
}
