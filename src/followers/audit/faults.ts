import type pg from 'pg'
import { insertFault, type LedgerFault } from '../../db/ledgers/ledger-faults.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { FAULT_REASON_CHARS_MAX } from '../limits.ts'

export type FaultDeps = {
  readonly pool: pg.Pool
  readonly log: { error(details: object, message: string): void }
}

/** The alarm: the ledger gets no more checkpoints until an operator has looked (docs/runbooks/ledger-fault.md). */
export async function raiseFault(deps: FaultDeps, ledgerId: Uuid, fault: LedgerFault): Promise<void> {
  // The reason quotes what an attacker wrote.
  const reason = cutReason(fault.reason)
  const { foundBy, seq, code } = fault
  const isNew = await insertFault(deps.pool, ledgerId, { foundBy, seq, code, reason })
  const known = isNew ? 'it gets no more checkpoints' : 'it has a fault already, which stands'
  deps.log.error(
    { ledger: formatId('led', ledgerId), foundBy, seq, code, reason },
    `INTEGRITY FAULT: a ledger does not verify; ${known}`,
  )
}

export function cutReason(reason: string): string {
  // Postgres takes no U+0000 in text, and half a surrogate pair is no text.
  return reason.replaceAll('\0', '\ufffd').slice(0, FAULT_REASON_CHARS_MAX).toWellFormed()
}
