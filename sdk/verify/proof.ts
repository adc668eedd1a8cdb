import { parseConsistencyProof, parseEntryProof } from '../../src/proof/offline/entry-proof.ts'
import { findingsOfProof, type ProofFindings } from '../../src/proof/offline/proof-findings.ts'
import { verifyProof } from '../../src/proof/offline/verify-proof.ts'
import { verifyRecord } from '../../src/proof/offline/verify-record.ts'
import { UsageError } from '../errors.ts'
import { type VerifiedEnvelope, verifiedEnvelope } from './envelope.ts'
import { refusing } from './errors.ts'
import {
  type Answer,
  parseCompromised,
  parseKids,
  parseWitnesses,
  requireWitnesses,
  textOf,
  type WitnessOptions,
} from './options.ts'
import { chooseEngine } from './providers.ts'

/**
 * Trusted values from other sources than the proof. If they are left out, the result depends on the proof itself. The
 * report states these assumptions.
 */
export type ProofOptions = {
  /** The record that the proof must be about: an answer of `GET /v1/records/{id}`. */
  readonly record?: Answer | undefined
  /** Trusted kids. One of them must have signed the entry. */
  readonly kids?: readonly string[] | undefined
  /** The ledger's note key: `noteVerifierKey` of `GET /v1/ledger`. */
  readonly noteKey?: string | undefined
  /**
   * Notes stored earlier. The proof's checkpoint must be one of these notes, or `consistency` must connect the
   * checkpoint to one of these notes.
   */
  readonly checkpoints?: readonly string[] | undefined
  /**
   * Maps the kid of each compromised key to the time since when the key is compromised (RFC 3339), or to null. The list
   * must come from another source than the proof.
   */
  readonly compromised?: Readonly<Record<string, string | null>> | undefined
  /**
   * Proof that connects the proof's checkpoint to one of `checkpoints`: an answer of `GET
   * /v1/checkpoints/consistency`.
   */
  readonly consistency?: Answer | undefined
  /** Witnesses, and the minimum number of them that must have cosigned the proof's checkpoint. */
  readonly witnesses?: WitnessOptions | undefined
}

/** Result of the verification. `entry` contains the contents of the entry. */
export type ProofReport = ProofFindings & { readonly entry: VerifiedEnvelope }

/**
 * Verifies an answer of `GET /v1/records/{id}/proof` or `/v1/entries/{seq}/proof`. Throws VerificationError if the
 * verification fails.
 *
 * The proof shows that the entry was signed, that it is in the ledger of a checkpoint, and that the record matches the
 * digest in the entry.
 */
export async function proof(proof: Answer, options: ProofOptions = {}): Promise<ProofReport> {
  const { record, consistency, checkpoints = [], noteKey = null } = options
  const kids = parseKids(options.kids ?? [])
  const compromised = parseCompromised(options.compromised ?? {})
  if (consistency !== undefined && checkpoints.length === 0)
    throw new UsageError('`consistency` needs a checkpoint that you stored: give it in `checkpoints`')
  const witnesses = parseWitnesses(options.witnesses, chooseEngine().providers)
  return refusing(async () => {
    const parsed = parseEntryProof(textOf(proof, 'a proof'))
    const joins =
      consistency === undefined ? null : parseConsistencyProof(textOf(consistency, 'a consistency proof'))
    const recordText = record === undefined ? null : textOf(record, 'a record')
    const trust = {
      kids,
      noteKey,
      storedCheckpoints: checkpoints,
      compromised,
      witnesses,
      consistency: joins,
    }
    const verified = await chooseEngine().run((providers) => {
      const found = verifyProof(parsed, trust, providers)
      if (recordText !== null) verifyRecord(recordText, found, providers)
      if (witnesses) requireWitnesses(found.cosignatures!.cosigned, witnesses)
      return found
    })
    const findings = findingsOfProof(verified, { kids, noteKey, record: recordText })
    return {
      ...findings,
      entry: verifiedEnvelope(verified.envelope, verified.statement, {
        leaf: parsed.entry.leaf,
        signedBy: verified.signedBy,
      }),
    }
  })
}
