import type pg from 'pg'
import { findToCosign, insertCosignature } from '../../db/chain/cosignatures.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { keyThumbprint } from '../../proof/keys.ts'
import { formatAddCheckpoint } from '../../proof/tree/add-checkpoint.ts'
import { verifyCosignatures } from '../../proof/tree/cosignature.ts'
import {
  type NoteKey,
  parseNote,
  parseSignatures,
  signatureLine,
  signaturesOf,
} from '../../proof/tree/note.ts'
import { nativeProviders } from '../../signing/native.ts'
import { proveConsistency } from '../checkpoints/prove-tree.ts'
import { WITNESS_CONFLICTS_MAX } from '../limits.ts'

export type SendDeps = {
  readonly pool: pg.Pool
  readonly log: { error(details: object, message: string): void }
}

export type Cosigner = {
  /** The key with which the witness cosigns. null if the witness is a peer that has not sent its key yet. */
  readonly key: NoteKey | null
  /** The peer that is the witness. null if the operator configured the witness. */
  readonly peerId: Uuid | null
  /** Sends a request as C2SP tlog-witness defines it, and returns the answer. Throws WitnessError. */
  readonly send: (body: string) => Promise<CosignerAnswer>
}

/** The answer of a witness. `status`: HTTP status as C2SP tlog-witness defines it. */
export type CosignerAnswer = { readonly status: number; readonly text: string }

/**
 * Why a witness gave no cosignature.
 *
 * - `ahead`: the witness claims to have seen more entries than the ledger has.
 * - `refused`: the witness does not accept the checkpoint.
 * - `invalid`: the answer is not a valid cosignature.
 * - `unreachable`: the witness did not answer, but may answer later.
 * - `declined`: the peer is not a witness, or has not sent its key yet.
 */
export type WitnessFailure = 'ahead' | 'refused' | 'invalid' | 'unreachable' | 'declined'

export class WitnessError extends Error {
  readonly failure: WitnessFailure
  /** Wait in ms that the witness requested by Retry-After. null if the answer has no such header. */
  readonly retryAfterMs: number | null

  constructor(failure: WitnessFailure, detail: string, retryAfterMs: number | null = null) {
    super(detail)
    this.name = 'WitnessError'
    this.failure = failure
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * Sends the newest checkpoint of a ledger to a witness, and stores the cosignature. Returns false if the witness has
 * already cosigned that checkpoint, or if there is no checkpoint. Throws WitnessError. Only a valid signature over
 * exactly this checkpoint is trusted. Everything else in the answer is ignored.
 */
export async function sendCheckpoint(
  { pool, log }: SendDeps,
  { key, peerId, send }: Cosigner,
  ledgerId: Uuid,
): Promise<boolean> {
  const kid = key === null ? NO_KID : keyThumbprint(nativeProviders.sha256, key.key)
  const found = await findToCosign(pool, ledgerId, kid)
  if (found === null || found.size === found.cosignedSize) return false
  const { size, note, cosignedSize } = found
  let oldSize = cosignedSize
  for (let asked = 0; asked <= WITNESS_CONFLICTS_MAX; asked++) {
    const path =
      oldSize === 0 || oldSize === size ? [] : await proveConsistency(pool, ledgerId, oldSize, size, note)
    const answer = await send(formatAddCheckpoint({ oldSize, path, note }))
    if (answer.status === 200) {
      if (key === null) throw new WitnessError('declined', 'the peer has not sent its cosigning key yet')
      const line = lineOf(answer.text, note, key)
      await insertCosignature(pool, { ledgerId, size, witnessKid: kid, peerId, line })
      return true
    }
    const seen = answer.status === 409 ? sizeOf(answer.text) : null
    if (seen === null) throw new WitnessError('refused', `the witness answered ${answer.status}`)
    if (seen > size)
      throw new WitnessError(
        'ahead',
        `the witness claims to have seen ${seen} entries, but the ledger has ${size}`,
      )
    if (seen < cosignedSize)
      log.error(
        { witness: key?.name, ledger: formatId('led', ledgerId), cosigned: cosignedSize, seen },
        'a witness has forgotten what it cosigned: do not rely on it (docs/runbooks/verification.md#a-witness-does-not-cosign)',
      )
    oldSize = seen
  }
  throw new WitnessError('refused', 'the witness answers with another size each time')
}

const NO_KID = new Uint8Array(0)

function sizeOf(text: string): number | null {
  return /^(0|[1-9][0-9]{0,14})\n$/.test(text) ? Number(text) : null
}

/** Returns the witness's signature line. The line is formatted again, so that no other text of the answer is stored. */
function lineOf(text: string, note: string, key: NoteKey): string {
  try {
    const signatures = signaturesOf(parseSignatures(text), key)
    verifyCosignatures({ text: parseNote(note).text, signatures }, [key], nativeProviders)
    const [own] = signatures
    if (!own)
      throw new ProofError('note_unsigned', `the answer of the witness has no cosignature by ${key.name}`)
    return signatureLine(own.name, own.keyId, own.signature)
  } catch (error) {
    if (error instanceof ProofError) throw new WitnessError('invalid', error.detail)
    throw error
  }
}
