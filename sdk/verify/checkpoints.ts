import { equalBytes, toHex } from '../../src/proof/bytes.ts'
import type { ProofProviders } from '../../src/proof/crypto.ts'
import { ProofError } from '../../src/proof/error.ts'
import { parseConsistencyProof } from '../../src/proof/offline/entry-proof.ts'
import { type Checkpoint, parseVerifierKey, verifyCheckpoint } from '../../src/proof/tree/checkpoint.ts'
import { countCosignatures } from '../../src/proof/tree/cosignature.ts'
import { verifyConsistency } from '../../src/proof/tree/merkle.ts'
import { parseNote } from '../../src/proof/tree/note.ts'
import { refusing } from './errors.ts'
import { type Answer, parseWitnesses, requireWitnesses, textOf, type WitnessOptions } from './options.ts'
import { chooseEngine } from './providers.ts'

export type CheckpointFindings = {
  /** Name of the log: `<host>/<led_…>`. */
  readonly origin: string
  readonly size: number
  /** Root of the tree in hex. */
  readonly root: string
  readonly chain: string
}

/**
 * Verifies that the ledger's note key signed a checkpoint. Throws VerificationError otherwise.
 *
 * - `noteKey`: `noteVerifierKey` of `GET /v1/ledger`, stored earlier.
 * - `witnesses`: witnesses that must have cosigned the checkpoint.
 */
export async function checkpoint(
  note: string,
  options: { readonly noteKey: string; readonly witnesses?: WitnessOptions | undefined },
): Promise<CheckpointFindings> {
  const witnesses = parseWitnesses(options.witnesses, chooseEngine().providers)
  return refusing(() =>
    chooseEngine().run((providers) => {
      const { origin, size, root, chain } = verifyNote(note, options.noteKey, providers)
      if (witnesses)
        requireWitnesses(countCosignatures(parseNote(note), witnesses, providers).cosigned, witnesses)
      return { origin, size, root: toHex(root), chain: toHex(chain) }
    }),
  )
}

function verifyNote(note: string, noteKey: string, providers: ProofProviders): Checkpoint {
  const { sha256, verifySignature } = providers
  return verifyCheckpoint(note, parseVerifierKey(noteKey, sha256), sha256, verifySignature)
}

export type ConsistencyFindings = { readonly origin: string; readonly from: number; readonly to: number }

/**
 * Verifies that the ledger of one checkpoint begins with the ledger of an earlier checkpoint, so that no earlier entry
 * has changed. Throws VerificationError otherwise. `consistency` is an answer of `GET /v1/checkpoints/consistency`.
 */
export async function consistency(
  consistency: Answer,
  { from, to, noteKey }: { readonly from: string; readonly to: string; readonly noteKey: string },
): Promise<ConsistencyFindings> {
  const text = textOf(consistency, 'a consistency proof')
  return refusing(async () => {
    const proof = parseConsistencyProof(text)
    return chooseEngine().run((providers) => {
      const [earlier, later] = [from, to].map((note) => verifyNote(note, noteKey, providers)) as [
        Checkpoint,
        Checkpoint,
      ]
      if (proof.from !== earlier.size || proof.to !== later.size) {
        throw new ProofError(
          'consistency_missing',
          `the proof is from ${proof.from} to ${proof.to} entries, but the checkpoints are of ${earlier.size} and ${later.size}`,
        )
      }
      verifyConsistency(providers.sha256, proof.from, proof.to, proof.path, earlier.root, later.root)
      // The tree does not contain the chain hash. So checkpoints of equal size could have different chain hashes.
      if (earlier.size === later.size && !equalBytes(earlier.chain, later.chain))
        throw new ProofError(
          'checkpoint_mismatch',
          `the two checkpoints of ${later.size} entries have different chain hashes`,
        )
      return { origin: later.origin, from: earlier.size, to: later.size }
    })
  })
}
