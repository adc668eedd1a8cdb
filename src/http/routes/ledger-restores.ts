import type { FastifyInstance } from 'fastify'
import type { Closure } from '../../db/chain/closures.ts'
import { describeHead, getClosure, reopenLedger } from '../../ledgers/reopen-ledger.ts'
import { toHex } from '../../proof/bytes.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import { acknowledgeBody, restoreAnswer } from '../schemas/ledger-restores.ts'
import type { ZodTypes } from '../zod-validation.ts'

/**
 * Serves what was lost in a ledger that was found to be an older backup of itself. The operator can acknowledge the
 * loss here.
 */
export function ledgerRestoreRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.get(
    '/v1/ledgers/:id/restore',
    {
      config: { reads: 'primary', access: 'operator', problems: ['state_conflict'] },
      schema: {
        summary: 'Get the state of a ledger that is closed as restored',
        params: idParams,
        response: { 200: restoreAnswer },
      },
    },
    async (request) => {
      const ledgerId = pathId('led', request.params.id)
      return render(ledgerId, await getClosure(deps, ledgerId))
    },
  )

  typed.post(
    '/v1/ledgers/:id/restore',
    {
      config: { access: 'operator', problems: ['state_conflict', 'invalid_idempotency_key'] },
      schema: {
        summary: 'Acknowledge the loss, and reopen the ledger',
        params: idParams,
        body: acknowledgeBody,
        response: { 200: restoreAnswer },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const ledgerId = pathId('led', request.params.id)
      return render(ledgerId, await reopenLedger(deps, ledgerId, request.body.known))
    },
  )
}

function render(ledgerId: Uuid, { known, found, closedAt, entry }: Closure) {
  return {
    ledger: formatId('led', ledgerId),
    known: describeHead(known),
    found: describeHead(found),
    closedAt: closedAt.toISOString(),
    entry: entry && {
      seq: entry.seq,
      kind: 'ledger-restored' as const,
      leaf: toHex(entry.leaf),
      chain: toHex(entry.chain),
    },
  }
}
