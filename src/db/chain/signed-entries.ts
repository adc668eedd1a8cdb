import { toHex } from '../../proof/bytes.ts'
import type { PublicKey } from '../../proof/crypto.ts'
import type { FindKey, SignedLine } from '../../proof/entry/verify-entry.ts'
import type { Uuid } from '../../proof/ids.ts'
import { parsePublicKey } from '../../proof/keys.ts'
import type { Db } from '../connect/client.ts'
import { listEnvelopeKeys } from './envelope-keys.ts'

/*
 * Reads single entries for decisions that depend on them. Callers must verify each entry first (`verifySignedEntry`),
 * because the columns of its row are not signed.
 */

/** Returns a function that finds an envelope key of the deployment by kid. Retired keys are included. */
export async function readFindKey(db: Db): Promise<FindKey> {
  const keys = new Map<string, PublicKey>()
  for (const { kid, alg, spki } of await listEnvelopeKeys(db)) {
    keys.set(kid, parsePublicKey(alg as PublicKey['alg'], Buffer.from(spki, 'base64')))
  }
  return (kid) => keys.get(kid) ?? null
}

export function loadKeysFrom(db: Db) {
  return {
    findKey: () => readFindKey(db),
    findRegistration: (ledgerId: Uuid, kid: string) => findRegistration(db, ledgerId, kid),
  }
}

/**
 * Returns the entry that registered an agent's signing key in the ledger, or null if there is no such entry. `kid` is
 * lower-case hex.
 */
export async function findRegistration(db: Db, ledgerId: Uuid, kid: string): Promise<SignedLine | null> {
  const { rows } = await db.query<SignedColumns>(
    `select e.kind, e.recorded_at, e.leaf, e.envelope from tallystick.agent_signing_keys k
      join tallystick.entries e on e.ledger_id = k.ledger_id and e.seq = k.registered_seq
      where k.ledger_id = $1 and k.kid = decode($2, 'hex')`,
    [ledgerId, kid],
  )
  return rows[0] ? toSignedLine(rows[0]) : null
}

/**
 * Returns the first entry of each ledger, in the order of `ledgerIds`. The result has null for a ledger without
 * entries.
 */
export async function readFirstEntries(db: Db, ledgerIds: readonly Uuid[]): Promise<(SignedLine | null)[]> {
  const { rows } = await db.query<SignedColumns | Record<keyof SignedColumns, null>>(
    `select e.kind, e.recorded_at, e.leaf, e.envelope
     from unnest($1::uuid[]) with ordinality i (ledger_id, ix)
     left join lateral (
       select * from tallystick.entries x where x.ledger_id = i.ledger_id and x.seq = 0 offset 0
     ) e on true
     order by i.ix`,
    [ledgerIds],
  )
  return rows.map((row) => (row.kind === null ? null : toSignedLine(row)))
}

export async function findSignedEntry(db: Db, ledgerId: Uuid, seq: number): Promise<SignedLine | null> {
  const { rows } = await db.query<SignedColumns>(
    'select kind, recorded_at, leaf, envelope from tallystick.entries where ledger_id = $1 and seq = $2',
    [ledgerId, seq],
  )
  return rows[0] ? toSignedLine(rows[0]) : null
}

export type RecordKey = { readonly ledgerId: Uuid; readonly recordId: Uuid }

/**
 * Returns the entries that created gated records, in the order of `keys`. The result has null for a record that does
 * not exist.
 */
export async function findCreations(db: Db, keys: readonly RecordKey[]): Promise<(SignedLine | null)[]> {
  const { rows } = await db.query<SignedColumns | Record<keyof SignedColumns, null>>({
    name: 'find_creations',
    text: `select e.kind, e.recorded_at, e.leaf, e.envelope
      from unnest($1::uuid[], $2::uuid[]) with ordinality k (ledger_id, record_id, ix)
      left join lateral (
        select x.first_seq from tallystick.gated_records x
        where x.ledger_id = k.ledger_id and x.record_id = k.record_id offset 0
      ) g on true
      left join lateral (
        select * from tallystick.entries x where x.ledger_id = k.ledger_id and x.seq = g.first_seq offset 0
      ) e on true
      order by k.ix`,
    values: [keys.map(({ ledgerId }) => ledgerId), keys.map(({ recordId }) => recordId)],
  })
  return rows.map((row) => (row.kind === null ? null : toSignedLine(row)))
}

export type SignedColumns = { kind: string; recordedAt: Date; leaf: Buffer; envelope: Uint8Array }

export function toSignedLine({ kind, recordedAt, leaf, envelope }: SignedColumns): SignedLine {
  return { kind, recordedAt: recordedAt.toISOString(), leaf: toHex(leaf), envelope }
}
