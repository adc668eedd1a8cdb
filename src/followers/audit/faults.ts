import type pg from 'pg'
import { insertFault, type LedgerFault } from '../../db/ledgers/ledger-faults.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { FAULT_REASON_CHARS_MAX } from '../limits.ts'

export type FaultDeps = {
  readonly pool: pg.Pool
  readonly log: { error(details: object, message: string): void }
}

/**
 * Stores and logs a fault. The ledger gets no more checkpoints until an operator has acted
 * (docs/runbooks/integrity.md#a-ledger-does-not-verify).
 */
export async function raiseFault(deps: FaultDeps, ledgerId: Uuid, fault: LedgerFault): Promise<void> {
  // The reason is cut to a maximum length, because it may quote text from an attacker.
  const reason = cutReason(fault.reason)
  const { foundBy, seq, code } = fault
  const isNew = await insertFault(deps.pool, ledgerId, { foundBy, seq, code, reason })
  const known = isNew ? 'it gets no more checkpoints' : 'it already has a fault, which stays open'
  deps.log.error(
    { ledger: formatId('led', ledgerId), foundBy, seq, code, reason },
    `INTEGRITY FAULT: a ledger does not verify; ${known}`,
  )
}

export function cutReason(reason: string): string {
  // Postgres text cannot contain U+0000 or a lone surrogate.
  return reason.replaceAll('\0', '\ufffd').slice(0, FAULT_REASON_CHARS_MAX).toWellFormed()
}
