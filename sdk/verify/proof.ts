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
} from './given.ts'
import { chooseEngine } from './providers.ts'

/** Knowledge from elsewhere. The more is missing, the more rests on the proof's own word: the report says which. */
export type ProofOptions = {
  /** The record that it must be of: an answer of `GET /v1/records/{id}`. */
  readonly record?: Answer | undefined
  /** Kids, one of which must have signed the entry. */
  readonly kids?: readonly string[] | undefined
  /** `noteVerifierKey` of `GET /v1/ledger`. */
  readonly noteKey?: string | undefined
  /** Notes that were kept: the proof's must be one of them, or joined to one by `consistency`. */
  readonly checkpoints?: readonly string[] | undefined
  /** Keys that others say are compromised, as of `verify.export`. */
  readonly compromised?: Readonly<Record<string, string | null>> | undefined
  /** An answer of `GET /v1/checkpoints/consistency`. */
  readonly consistency?: Answer | undefined
  /** The proof's checkpoint must be cosigned by so many of these. */
  readonly witnesses?: WitnessOptions | undefined
}

/** `entry`: what it says. */
export type ProofReport = ProofFindings & { readonly entry: VerifiedEnvelope }

/**
 * Verifies an answer of `GET /v1/records/{id}/proof` or `/v1/entries/{seq}/proof`: the entry was signed, it is in the
 * ledger of a checkpoint, and the record is the one that the entry digests.
 */
export async function proof(proof: Answer, options: ProofOptions = {}): Promise<ProofReport> {
  const { record, consistency, checkpoints = [], noteKey = null } = options
  const kids = parseKids(options.kids ?? [])
  const compromised = parseCompromised(options.compromised ?? {})
  if (consistency !== undefined && checkpoints.length === 0)
    throw new UsageError('consistency joins the proof to a checkpoint that you kept: name it in checkpoints')
  const witnesses = parseWitnesses(options.witnesses, chooseEngine().providers)
  return refusing(async () => {
    const parsed = parseEntryProof(textOf(proof, 'a proof'))
    const joins =
      consistency === undefined ? null : parseConsistencyProof(textOf(consistency, 'a consistency proof'))
    const recordText = record === undefined ? null : textOf(record, 'a record')
    const trust = {
      kids,
      noteKey,
      keptCheckpoints: checkpoints,
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
