import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import { COSIGNATURES_READ_MAX } from '../limits.ts'
import { COSIGNED_NOTE } from './checkpoints.ts'

/**
 * A ledger's newest checkpoint, and the largest size that one witness has cosigned. This size is 0 if the witness has
 * cosigned nothing.
 */
export type ToCosign = { readonly size: number; readonly note: string; readonly cosignedSize: number }

/** Returns the checkpoint that the witness has to cosign, or null if the ledger has no checkpoint. */
export async function findToCosign(db: Db, ledgerId: Uuid, witnessKid: Uint8Array): Promise<ToCosign | null> {
  const { rows } = await db.query<ToCosign>({
    name: 'find_to_cosign',
    text: `select c.size, c.note, coalesce((
       select max(s.size) from tallystick.cosignatures s where s.ledger_id = $1 and s.witness_kid = $2), 0) as cosigned_size
     from tallystick.checkpoints c where c.ledger_id = $1 order by c.size desc limit 1`,
    values: [ledgerId, witnessKid],
  })
  return rows[0] ?? null
}

/**
 * Lists at most `limit` ledgers whose newest checkpoint is at least `ageMs` old and lacks the witness's cosignature.
 */
export async function listUncosigned(
  db: Db,
  witnessKid: Uint8Array,
  ageMs: number,
  limit: number,
): Promise<Uuid[]> {
  const { rows } = await db.query<{ id: Uuid }>(
    `select l.ledger_id as id from tallystick.ledgers l
     join lateral (
       select size, published_at from tallystick.checkpoints c where c.ledger_id = l.ledger_id order by size desc limit 1
     ) newest on newest.published_at <= now() - $2 * interval '1 millisecond'
     where not exists (
       select from tallystick.cosignatures s
       where s.ledger_id = l.ledger_id and s.size = newest.size and s.witness_kid = $1)
     order by random() limit $3`,
    [witnessKid, ageMs, limit],
  )
  return rows.map((row) => row.id)
}

/**
 * Stores a verified cosignature `line`. If two workers store a cosignature of the same witness for the same checkpoint,
 * the first one stays. `peerId` is null for a witness that the operator has named.
 */
export async function insertCosignature(
  db: Db,
  { ledgerId, size, witnessKid, peerId, line }: Cosignature,
): Promise<void> {
  await db.query(
    `insert into tallystick.cosignatures (ledger_id, size, witness_kid, peer_id, line) values ($1, $2, $3, $4, $5)
     on conflict do nothing`,
    [ledgerId, size, witnessKid, peerId, line],
  )
}

type Cosignature = {
  readonly ledgerId: Uuid
  readonly size: number
  readonly witnessKid: Uint8Array
  readonly peerId: Uuid | null
  readonly line: string
}

/**
 * Returns the note of the newest checkpoint with at least `cosignaturesMin` cosignatures. Returns null if the newest
 * COSIGNATURES_READ_MAX cosignatures contain no such checkpoint.
 */
export async function findCosignedCheckpoint(
  db: Db,
  ledgerId: Uuid,
  cosignaturesMin: number,
): Promise<string | null> {
  const { rows } = await db.query<{ note: string }>({
    name: 'find_cosigned_checkpoint',
    text: `select ${COSIGNED_NOTE} as note from tallystick.checkpoints c
     where ledger_id = $1 and size = (
       select n.size from (
         select s.size from tallystick.cosignatures s where s.ledger_id = $1 order by s.size desc limit $3) n
       group by n.size having count(*) >= $2 order by n.size desc limit 1)`,
    values: [ledgerId, cosignaturesMin, COSIGNATURES_READ_MAX],
  })
  return rows[0]?.note ?? null
}
