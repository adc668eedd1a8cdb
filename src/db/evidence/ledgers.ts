import type pg from 'pg'
import { fromBase64, toHex } from '../../proof/bytes.ts'
import type { Sha256 } from '../../proof/crypto.ts'
import type { Uuid } from '../../proof/ids.ts'
import { keyThumbprint, parsePublicKey } from '../../proof/keys.ts'
import type { ParsedStatement } from '../../proof/statement/statement.ts'

/* Compares the keys of the deployment, and the tables that have one row for each ledger. */

export type AuditedLedger = {
  name: string | null
  issuer: string | null
  origin: string | null
  noteKid: Buffer | null
  size: number | null
  chain: Buffer | null
  envelopeKid: Buffer | null
  closed: string | null
  /** True if a closure of the ledger was not acknowledged yet. */
  awaitsAcknowledgement: boolean
  treeSize: number | null
  treeHashes: Buffer | null
  checkpointSize: number | null
}

/**
 * Returns the ledger's rows from the tables that have one row for each ledger. If a row is missing, its members are
 * null.
 */
export async function getAuditedLedger(client: pg.ClientBase, ledgerId: Uuid): Promise<AuditedLedger> {
  const { rows } = await client.query<AuditedLedger>(
    `select l.name, l.issuer, l.origin, l.note_kid, h.size, h.chain, h.envelope_kid, h.closed,
       exists (select from tallystick.ledger_closures c where c.ledger_id = i.ledger_id and c.restored_seq is null)
         as awaits_acknowledgement,
       t.size as tree_size, t.hashes as tree_hashes,
       (select max(c.size) from tallystick.checkpoints c where c.ledger_id = i.ledger_id) as checkpoint_size
     from (select $1::uuid as ledger_id) i
     left join tallystick.ledgers l using (ledger_id)
     left join tallystick.chain_heads h using (ledger_id)
     left join tallystick.tree_frontiers t using (ledger_id)`,
    [ledgerId],
  )
  return rows[0]!
}

export type AuditedServerKey = {
  kid: Buffer
  use: string
  alg: string
  spki: Buffer
  compromisedAt: Date | null
}

export async function listServerKeys(client: pg.ClientBase): Promise<AuditedServerKey[]> {
  const { rows } = await client.query<AuditedServerKey>(
    'select kid, use, alg, spki, compromised_at from tallystick.server_keys order by kid',
  )
  return rows
}

export type LedgerColumns = {
  readonly name: string | null
  readonly issuer: string | null
  readonly origin: string | null
  readonly noteKid: string | null
}

export function ledgerColumns({ name, issuer, origin, noteKid }: AuditedLedger): LedgerColumns {
  return { name, issuer, origin, noteKid: noteKid === null ? null : toHex(noteKid) }
}

export function signedLedgers({ kind, predicate }: ParsedStatement, sha256: Sha256): LedgerColumns[] {
  if (kind !== 'ledger-created') return []
  const { name, issuer, origin, noteKey } = predicate['definition'] as Record<string, string>
  const noteKid = toHex(keyThumbprint(sha256, parsePublicKey('EdDSA', fromBase64(noteKey!))))
  return [{ name: name!, issuer: issuer!, origin: origin!, noteKid }]
}
