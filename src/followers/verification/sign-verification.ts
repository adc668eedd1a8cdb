import type { EntryRow } from '../../db/chain/append-entries.ts'
import type { GatedCase } from '../../db/records/gated-cases.ts'
import type { Judgement } from '../../ledgers/types/rules/judge.ts'
import { toHex } from '../../proof/bytes.ts'
import type { Signer } from '../../proof/crypto.ts'
import { parseId } from '../../proof/ids.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import { formatDocumentSubject } from '../../proof/statement/document-subjects.ts'
import type { RecordState } from '../../proof/statement/kinds.ts'
import { saltDocument } from '../../records/documents.ts'
import { type GatedEvent, signEvent } from '../../records/gated/sign-step.ts'
import { autoSignal } from '../../records/gated/signal.ts'
import type { Entropy } from '../../signing/entropy.ts'
import type { SignedCase } from './verify-case.ts'
import type { SignedCompletion } from './verify-completion.ts'

type Signing = { readonly signer: Signer; readonly entropy: Entropy; readonly nowMs: number }

/** Signs the verification. For a record with gate `auto`, also signs the verdict. The caller appends both together. */
export function signVerification(
  signing: Signing,
  found: GatedCase,
  signed: SignedCompletion,
  { outcome, rules, values }: Judgement,
): EntryRow[] {
  const { completion, version, lastLeaf } = signed
  const subjectId = parseId('cmp', completion.name)
  const subject = formatDocumentSubject('values', subjectId)
  const to = outcome === 'pass' ? 'VERIFIED' : 'DISCREPANT'
  const { entry, predicate } = signAsSystem(signing, found, signed, {
    kind: 'completion-verified',
    version: version + 1,
    from: 'SUBMITTED',
    to,
    previous: lastLeaf,
    subjects: [completion],
    document: { ...saltDocument(signing.entropy, values, undefined), name: 'values', subject, subjectId },
    predicate: { completion: completion.name, outcome, rules },
  })
  if (signed.terms.gate === 'principal') return [entry]
  const after = { version: version + 1, state: to, leaf: toHex(entry.leaf) } as const
  return [entry, signVerdict(signing, found, signed, predicate as JsonObject, after)]
}

/** Signs only the verdict of a record with gate `auto`. For records whose verification is already in the chain. */
export function signLateVerdict(
  signing: Signing,
  found: GatedCase,
  signed: SignedCompletion,
  verified: JsonObject,
): EntryRow {
  const { version, lastLeaf: leaf, state } = signed
  return signVerdict(signing, found, signed, verified, { version, state: state as RecordState, leaf })
}

/** Signs the verdict that follows from the outcome of the rules. */
function signVerdict(
  signing: Signing,
  found: GatedCase,
  signed: SignedCompletion,
  verified: JsonObject,
  after: { readonly version: number; readonly state: RecordState; readonly leaf: string },
): EntryRow {
  const { completion } = signed
  const passed = verified['outcome'] === 'pass'
  return signAsSystem(signing, found, signed, {
    kind: 'verdict-rendered',
    version: after.version + 1,
    from: after.state,
    to: passed ? 'ACCEPTED' : 'REJECTED',
    previous: after.leaf,
    subjects: [completion],
    document: null,
    predicate: {
      completion: completion.name,
      verdict: passed ? 'accept' : 'reject',
      by: 'auto',
      signal: autoSignal(verified),
    },
  }).entry
}

type SystemStep = Pick<
  GatedEvent,
  'kind' | 'version' | 'from' | 'to' | 'previous' | 'subjects' | 'document' | 'predicate'
>

export function signAsSystem(
  { signer, nowMs }: Pick<Signing, 'signer' | 'nowMs'>,
  { ledgerId, recordId, envelopeKid }: GatedCase,
  { ledger, issuer, record, created }: SignedCase,
  step: SystemStep,
) {
  const author = { agent: 'system', ledger, ledgerId, issuer, envelopeKid } as const
  return signEvent(signer, author, {
    ...step,
    record,
    recordId,
    digest: created.subjects[0].sha256,
    recordedAtMs: nowMs,
    onBehalfOf: null,
    idempotency: null,
  })
}
