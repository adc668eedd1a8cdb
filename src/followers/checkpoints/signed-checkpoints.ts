import {
  type CheckpointRow,
  findCheckpoint,
  findCheckpointCovering,
  findCheckpointOfSize,
} from '../../db/chain/checkpoints.ts'
import { findCosignedCheckpoint } from '../../db/chain/cosignatures.ts'
import type { Db } from '../../db/connect/client.ts'
import type { ServerKey } from '../../db/schema/server-keys.ts'
import { ApiError } from '../../errors.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { parseCheckpoint, verifyCheckpoint } from '../../proof/tree/checkpoint.ts'
import { nativeProviders } from '../../signing/native.ts'
import { SIGNED_CHECKPOINTS_MAX } from '../limits.ts'

const { sha256, verifySignature } = nativeProviders

/**
 * Reads the checkpoints of a ledger and verifies each note with the note key. An attacker may have changed a note in
 * the database. If the server sent out a note without a valid signature, it would look like a fault of the ledger.
 * Throws `integrity_fault` for a note that does not verify.
 */
export class SignedCheckpoints {
  readonly #pool: Db
  readonly #noteKey: ServerKey
  /**
   * Maps a ledger to its newest verified note. A verification takes 60 to 140 µs, and most requests need the newest
   * note.
   */
  readonly #verified: Map<string, string>

  constructor(pool: Db, noteKey: ServerKey, verified = new Map<string, string>()) {
    this.#pool = pool
    this.#noteKey = noteKey
    this.#verified = verified
  }

  /** Returns a reader that reads from another database pool and shares this cache. */
  on(pool: Db): SignedCheckpoints {
    return new SignedCheckpoints(pool, this.#noteKey, this.#verified)
  }

  /** Returns the newest note, or null if the ledger has no checkpoint. */
  async newest(ledgerId: Uuid): Promise<string | null> {
    return this.#verify(ledgerId, await findCheckpoint(this.#pool, ledgerId, Number.MAX_SAFE_INTEGER))
  }

  /** Returns the newest note with at least this many cosignatures, or null if there is no such note. */
  async cosigned(ledgerId: Uuid, cosignaturesMin: number): Promise<string | null> {
    return this.#verify(ledgerId, await findCosignedCheckpoint(this.#pool, ledgerId, cosignaturesMin))
  }

  /** Returns the note of exactly this size, or null if there is no such note. */
  async ofSize(ledgerId: Uuid, size: number): Promise<string | null> {
    return this.#verify(ledgerId, await findCheckpointOfSize(this.#pool, ledgerId, size))
  }

  /** Returns the smallest checkpoint of at least `sizeMin` entries, or null if there is no such checkpoint. */
  async covering(ledgerId: Uuid, sizeMin: number): Promise<CheckpointRow | null> {
    const row = await findCheckpointCovering(this.#pool, ledgerId, sizeMin)
    this.#verify(ledgerId, row?.note ?? null)
    return row
  }

  #verify(ledgerId: Uuid, note: string | null): string | null {
    const ledger = formatId('led', ledgerId)
    if (note === null || this.#verified.get(ledger) === note) return note
    try {
      const { origin } = parseCheckpoint(note).checkpoint
      if (!origin.endsWith(`/${ledger}`)) throw new Error(`the note is of ${origin}, not of ${ledger}`)
      verifyCheckpoint(note, { origin, key: this.#noteKey.key }, sha256, verifySignature)
    } catch (error) {
      throw new ApiError('integrity_fault', 'a checkpoint in the database is not signed by the note key', {
        cause: error as Error,
      })
    }
    if (this.#verified.size >= SIGNED_CHECKPOINTS_MAX) this.#verified.clear()
    this.#verified.set(ledger, note)
    return note
  }
}
