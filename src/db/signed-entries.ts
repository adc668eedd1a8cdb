import { toHex } from '../proof/bytes.ts'
import { type PublicKey, parsePublicKey } from '../proof/keys.ts'
import type { FindKey, SignedLine } from '../proof/verify-entry.ts'
import type { Db } from './client.ts'
import { listEnvelopeKeys } from './server-keys.ts'
import { toUuid } from './uuid.ts'

/* Single entries that somebody acts on: to be verified first (`verifySignedEntry`), because columns are an index only. */

/** The deployment's envelope keys, retired ones too. */
export async function readFindKey(db: Db): Promise<FindKey> {
  const keys = new Map<string, PublicKey>()
  for (const { kid, alg, spki } of await listEnvelopeKeys(db)) {
    keys.set(kid, parsePublicKey(alg as PublicKey['alg'], Buffer.from(spki, 'base64')))
  }
  return (kid) => keys.get(kid) ?? null
}

/** The first entry of each ledger, in the order given; null where there is none. */
export async function readFirstEntries(
  db: Db,
  ledgerIds: readonly Uint8Array[],
): Promise<(SignedLine | null)[]> {
  const { rows } = await db.query<SignedColumns | Record<keyof SignedColumns, null>>(
    `select e.kind, e.recorded_at, e.leaf, e.envelope
     from unnest($1::uuid[]) with ordinality i (ledger_id, ix)
     left join lateral (
       select * from tallystick.entries x where x.ledger_id = i.ledger_id and x.seq = 0 offset 0
     ) e on true
     order by i.ix`,
    [ledgerIds.map(toUuid)],
  )
  return rows.map((row) => (row.kind === null ? null : toSignedLine(row)))
}

export type SignedColumns = { kind: string; recorded_at: Date; leaf: Buffer; envelope: Buffer }

export function toSignedLine({ kind, recorded_at, leaf, envelope }: SignedColumns): SignedLine {
  return { kind, recordedAt: recorded_at.toISOString(), leaf: toHex(leaf), envelope }
}
