import { z } from 'zod'
import { GATED_REVISIONS_DEFAULT } from '../../proof/request-limits.ts'
import { OFFERED_STEPS } from '../../proof/statement/kinds.ts'
import { SIGNAL_CODES } from '../../records/gated/signal.ts'
import { SHARE_PEERS_MAX } from '../../records/limits.ts'
import { GATED_REVISIONS_MAX, REASON_CHARS_MAX } from '../limits.ts'
import { anyAgent, hash, idOf, instant, ownEnvelope, salt, sentBy, seq } from './common.ts'
import { time } from './times.ts'
import { ruleOutcome } from './types.ts'

const sharedWith = z.strictObject({
  peer: idOf('peer'),
  documents: z
    .enum(['whole', 'digests'])
    .describe('whole: with payload, evidence, values and reasons; digests: only the signed entries'),
})
const share = z.array(sharedWith).min(1).max(SHARE_PEERS_MAX).describe('the peers to share with, each once')

/** The terms of a gated record. A gated record has them in addition to the members of every record. */
export const terms = {
  performer: anyAgent
    .describe(
      'who delivers: `agt_…`, or `led_…/agt_…` in the ledger of a peer in `share`; absent: the agent that activates the record',
    )
    .optional(),
  gate: z
    .enum(['principal', 'auto'])
    .describe('who judges: the principal, or only the rules; absent: principal')
    .optional(),
  deadline: time.describe('latest time of the completion').optional(),
  maxRevisions: z
    .int()
    .min(0)
    .max(GATED_REVISIONS_MAX)
    .describe(`how many revisions can be requested; absent: ${GATED_REVISIONS_DEFAULT}`)
    .optional(),
  tolerances: z
    .looseObject({})
    .describe('tolerances by rule id; each replaces that of the type, within the limit that the type allows')
    .optional(),
  share: share.optional(),
}

const reason = z
  .string()
  .min(1)
  .max(REASON_CHARS_MAX)
  .describe('free text, stored beside the chain; its salted digest is signed')
const validUntil = time.describe('time at which the settlement signal expires; absent: never')

const ofStep = {
  onBehalfOf: idOf('agt').optional(),
  occurredAt: time.optional(),
  envelope: ownEnvelope.optional(),
}
/** Salt of the document. Optional, because the server makes the salt if the request has no envelope. */
const salted = { salt: salt.optional() }

export const shareBody = z
  .strictObject({ share, onBehalfOf: ofStep.onBehalfOf })
  .meta({ examples: [{ share: [{ peer: 'peer_01jegv5gyme05800000000000a', documents: 'whole' }] }] })
/**
 * Members of a step that can be offered. `peer` is needed for a record of another ledger, because two peers may each
 * have sent a record with the same id.
 */
const ofOffer = { peer: sentBy.optional(), ...ofStep }
export const activateBody = z.strictObject(ofOffer)
export const completionBody = z
  .strictObject({
    evidence: z.looseObject({}).describe('a JSON object that matches the type’s evidence schema'),
    ...salted,
    ...ofOffer,
  })
  .meta({ examples: [{ evidence: { quantity: 100 } }] })
export const verdictBody = z
  .strictObject({
    verdict: z.enum(['accept', 'reject']),
    reason: reason.optional(),
    ...salted,
    validUntil: validUntil.optional(),
    ...ofStep,
  })
  .meta({ examples: [{ verdict: 'accept' }, { verdict: 'reject', reason: '3 of 5 pallets are missing' }] })
export const reasonBody = z
  .strictObject({ reason, ...salted, ...ofStep })
  .meta({ examples: [{ reason: 'the labels are missing' }] })
export const overturnBody = z
  .strictObject({ reason, ...salted, validUntil: validUntil.optional(), ...ofStep })
  .meta({ examples: [{ reason: 'the appeal was granted' }] })

/**
 * Makes the schema of a step. It adds the members that every step has: agent, time, and the document whose digest the
 * step signs.
 */
const stepView = <T extends Record<string, z.ZodType>>(id: string, members: T) =>
  z
    .strictObject({
      ...members,
      by: z.union([anyAgent, z.literal('system')]).describe('the party: onBehalfOf, or else the actor'),
      recordedAt: instant,
      seq: seq.describe('seq of the step’s entry'),
      salt: salt.nullable(),
      digest: hash.nullable().describe('digest of the salted document; null: the step has none'),
      erasedBy: seq.nullable().describe('seq of the entry that erased the document'),
    })
    .meta({ id })

const isReason = {
  reason: z.string().nullable().describe('null: the step has no reason, or the reason is erased'),
}

export const signalView = z
  .strictObject({
    decision: z.enum(['SETTLE', 'HOLD', 'RELEASE']),
    code: z.enum(SIGNAL_CODES),
    failingRules: z.array(z.string()),
    validUntil: instant.nullable(),
  })
  .meta({ id: 'SettlementSignal' })

/** A step that an agent of this ledger offered in a record of another ledger, and the outcome of the offer. */
export const offerView = z
  .strictObject({
    state: z.enum(['pending', 'taken', 'refused']),
    step: z.enum(OFFERED_STEPS),
    version: z.int().min(2).describe('version of the record after the step'),
    completion: idOf('cmp').nullable().describe('the offered completion; null: the step is not a completion'),
    by: idOf('agt').describe('the party: onBehalfOf, or else the actor'),
    recordedAt: instant,
    seq: seq.describe('seq of the offer’s entry in this ledger'),
    code: z.string().nullable().describe('reason of the refusal, as a code; null: not refused'),
    decidedBy: seq.nullable().describe('seq of the entry that received the home’s decision'),
  })
  .meta({ id: 'Offer' })

/** Output of `renderGated` (src/records/read/step-view.ts). */
export const gatedView = z
  .strictObject({
    principal: anyAgent,
    performer: anyAgent.nullable(),
    gate: z.enum(['principal', 'auto']),
    deadline: instant.nullable(),
    maxRevisions: z.int().min(0),
    revisions: z.int().min(0),
    tolerances: z.looseObject({}).nullable(),
    completion: stepView('Completion', {
      id: idOf('cmp'),
      evidence: z.looseObject({}).nullable().describe('null: erased'),
    }).nullable(),
    verification: stepView('Verification', {
      outcome: z.enum(['pass', 'fail']),
      rules: z.array(ruleOutcome),
      values: z.array(z.looseObject({})).nullable().describe('the compared values; null: erased'),
    }).nullable(),
    verdict: stepView('Verdict', {
      verdict: z.enum(['accept', 'reject']),
      signal: signalView,
      ...isReason,
    }).nullable(),
    overturn: stepView('Overturn', { signal: signalView, ...isReason }).nullable(),
    revision: stepView('Revision', isReason).nullable().describe('the newest revision request'),
    cancellation: stepView('Cancellation', isReason).nullable(),
    share: z
      .array(sharedWith.meta({ id: 'SharedWith' }))
      .nullable()
      .describe('peers with which the record is shared; null: none'),
    offer: offerView
      .nullable()
      .describe('for a record of another ledger: the newest step that an agent of this ledger offered'),
  })
  .meta({ id: 'GatedRecord' })
