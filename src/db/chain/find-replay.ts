import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

/**
 * Returns the seq of the entry that the first request with this idempotency key made. Returns `conflict` if the key was
 * used for a different request, or null if the key is new.
 */
export async function findReplay(
  pool: Db,
  ledgerId: Uuid,
  actorId: Uuid,
  request: { readonly keyHash: Uint8Array; readonly requestHash: Uint8Array },
): Promise<{ readonly seq: number } | 'conflict' | null> {
  const { rows } = await pool.query<{ seq: number | null }>({
    name: 'find_replay',
    text: 'select tallystick.find_replay($1, $2, $3, $4) as seq',
    values: [ledgerId, actorId, request.keyHash, request.requestHash],
  })
  const seq = rows[0]!.seq
  if (seq === null) return null
  return seq === -1 ? 'conflict' : { seq }
}
