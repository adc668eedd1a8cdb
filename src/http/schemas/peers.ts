import { z } from 'zod'
import { identity, token } from '../../outside/federation/invitation.ts'
import {
  PEER_BYTES_PER_DAY,
  PEER_BYTES_PER_DAY_MAX,
  PEER_BYTES_PER_DAY_MIN,
  PEER_CHECKPOINT_CHARS_MAX,
  PEER_ENTRIES_PER_DAY,
  PEER_ENTRIES_PER_DAY_MAX,
  PEER_ENTRIES_PER_DAY_MIN,
  PEER_ENTRIES_PER_REQUEST_MAX,
  PEER_FORKS_COUNTED_MAX,
  PEER_ROTATIONS_PER_REQUEST_MAX,
  PEER_SUMMARY_RECORDS_MAX,
  PEER_TYPES_PER_REQUEST_MAX,
  PEER_WITNESS_KEY_CHARS_MAX,
} from '../../outside/federation/limits.ts'
import { isId } from '../../proof/ids.ts'
import { REFERENCES_MAX } from '../../proof/limits.ts'
import { REFERENCE_CHARS_MAX } from '../../proof/request-limits.ts'
import { pageOf, pageQuery } from '../answers/page.ts'
import { base64, erasureCode, hash, idOf, instant, salt, seq, signedEntry } from './common.ts'
import { name } from './names.ts'

export const PEER_STATES = ['invited', 'pending', 'active', 'suspended', 'revoked'] as const

export const addPeerBody = z
  .strictObject({
    name: name.describe('this ledger’s name for the other side'),
    invitation: z
      .string()
      .max(8_192)
      .describe('the other side’s invitation, to accept. Absent: make an invitation for the other side')
      .optional(),
  })
  .meta({ examples: [{ name: 'Harbour Freight' }] })

export const peerReason = z
  .strictObject({
    code: erasureCode.optional().describe('the reason, as a word for programs; absent: requested'),
  })
  .meta({ examples: [{ code: 'contract_ended' }] })

const usedOf = (what: string) =>
  z.strictObject({
    used: z.int().min(0).describe(`${what} used today; the last request may exceed the budget`),
    perDay: z.int().min(1),
  })

/**
 * The budget is a member of the body, because a missing body is read as null. If null alone meant "no budget", a
 * missing body would remove the budget.
 */
export const peerBudgetBody = z
  .strictObject({
    budget: z
      .strictObject({
        entriesPerDay: z.int().min(PEER_ENTRIES_PER_DAY_MIN).max(PEER_ENTRIES_PER_DAY_MAX),
        bytesPerDay: z.int().min(PEER_BYTES_PER_DAY_MIN).max(PEER_BYTES_PER_DAY_MAX),
      })
      .nullable()
      .describe(
        `daily limits; null: the default, ${PEER_ENTRIES_PER_DAY} entries and ${PEER_BYTES_PER_DAY} bytes`,
      ),
  })
  .meta({ examples: [{ budget: { entriesPerDay: 100_000, bytesPerDay: 1_000_000_000 } }, { budget: null }] })

export const peerView = z
  .strictObject({
    id: idOf('peer').describe('id of the peering, the same on both sides'),
    name: z.string(),
    role: z.enum(['inviter', 'invited']).describe('role of this ledger in the handshake'),
    state: z.enum(PEER_STATES),
    createdAt: instant,
    createdBy: idOf('agt'),
    expiresAt: instant.describe('when the invitation expires'),
    remote: identity.nullable().describe('the other side; null before the handshake'),
    addedSeq: seq.nullable().describe('seq of this ledger’s `peer-added` entry'),
    drain: z
      .strictObject({
        behind: z
          .int()
          .min(0)
          .describe(
            'entries of this ledger that were not examined for this peer yet; most do not concern it',
          ),
        failures: z.int().min(0).describe('failed requests in a row'),
        failingSince: instant.nullable(),
        lastError: z.string().nullable(),
        lastSuccessAt: instant.nullable(),
        resumeAt: instant.nullable().describe('nothing is sent before this time'),
        deadLetters: z.int().min(0),
        forks: z
          .int()
          .min(0)
          .describe(`contradicting entries that the peer signed; counted up to ${PEER_FORKS_COUNTED_MAX}`),
      })
      .nullable()
      .describe('how entries are sent to the peer; null: nothing to send yet'),
    budget: z
      .strictObject({
        entries: usedOf('entries'),
        bytes: usedOf('bytes'),
        resetsAt: instant.nullable().describe('when the day of the budget ends; null: nothing is used'),
      })
      .describe('how much the peer may store here in a day, and has stored'),
    witness: z
      .strictObject({
        ownKey: z
          .string()
          .nullable()
          .describe('key with which this ledger cosigns the peer’s checkpoints; null: it does not cosign'),
        key: z
          .string()
          .nullable()
          .describe('key with which the peer cosigns this ledger’s checkpoints; null: unknown'),
        cosignedSize: z.int().min(0).describe('size of this ledger that the peer has cosigned'),
        seenSize: z.int().min(0).describe('size of the peer’s ledger that this ledger has cosigned'),
        fork: z
          .strictObject({ held: z.string(), note: z.string() })
          .nullable()
          .describe('two different checkpoints of one size, both signed by the peer’s ledger'),
      })
      .nullable()
      .describe('cosignatures in both directions; null before the handshake'),
  })
  .meta({ id: 'Peer' })

export const newPeerView = z
  .strictObject({
    ...peerView.shape,
    invitation: z
      .string()
      .nullable()
      .describe(
        'the invitation, which the other side’s administrator uses once. Keep it secret: whoever has it can become the peer. null: an invitation was accepted',
      ),
  })
  .meta({ id: 'NewPeer' })

export const peerPage = pageOf(peerView)
export const peersQuery = z.strictObject(pageQuery)
export const peersCursor = z.tuple([z.string().refine((id) => isId('peer', id))])

const deadLetterView = z
  .strictObject({
    seq,
    record: idOf('rec').nullable(),
    code: z.string().describe('code of the other side’s refusal'),
    detail: z.string().nullable(),
    diedAt: instant,
    entry: signedEntry,
  })
  .meta({ id: 'PeerDeadLetter' })
export const deadLetterPage = pageOf(deadLetterView)
export const seqCursor = z.tuple([seq])
export const replayBody = z
  .strictObject({ seqs: z.array(seq).min(1).max(1_000).optional().describe('absent: all') })
  .meta({ examples: [{}] })
export const replayAnswer = z.strictObject({ replayed: z.int().min(0) }).meta({ id: 'PeerReplay' })

const forkView = z
  .strictObject({
    leaf: hash.describe('leaf of the refused entry'),
    seq: seq.describe('position in the peer’s chain, as the peer stated it'),
    record: idOf('rec').nullable(),
    version: z.int().min(1).nullable(),
    held: hash.describe('leaf of the stored entry that the refused entry contradicts'),
    envelope: base64.describe('COSE_Sign1 of the refused entry, signed by the peer'),
    seenAt: instant,
  })
  .meta({ id: 'PeerFork' })
export const forkPage = pageOf(forkView)
export const leafCursor = z.tuple([hash])

/* Schemas of requests between servers */

export const introductionBody = z.strictObject({ peer: idOf('peer'), token, invited: identity })
export const introductionAnswer = z.strictObject({ envelope: base64 }).meta({ id: 'PeerIntroduced' })

const sentRotation = z.strictObject({ seq, envelope: base64.max(44_000) })
export const rotationsBody = z.strictObject({
  rotations: z.array(sentRotation).min(1).max(PEER_ROTATIONS_PER_REQUEST_MAX),
})
export const rotationsAnswer = z.strictObject({ envelopes: z.array(base64) }).meta({ id: 'PeerKeysReceived' })

const sentDocument = z.strictObject({
  subject: z.string().min(1).max(80),
  digest: hash,
  salt: salt.nullable(),
  document: z.union([z.looseObject({}), z.array(z.unknown()), z.string(), z.null()]),
  references: z
    .array(z.string().min(1).max(REFERENCE_CHARS_MAX))
    .min(1)
    .max(REFERENCES_MAX)
    .nullable()
    .optional(),
})
const sentEntry = z.strictObject({
  seq,
  envelope: base64.max(44_000),
  document: sentDocument.nullable().optional(),
})
export const entriesBody = z.strictObject({
  types: z
    .array(z.looseObject({ name: z.string(), version: z.int() }))
    .max(PEER_TYPES_PER_REQUEST_MAX)
    .optional(),
  entries: z.array(sentEntry).min(1).max(PEER_ENTRIES_PER_REQUEST_MAX),
})
const leaf = hash.nullable().describe('null: the envelope cannot be read')
export const entriesAnswer = z
  .strictObject({
    outcomes: z.array(
      z.union([
        z.strictObject({ leaf, outcome: z.literal('received'), envelope: base64 }),
        z.strictObject({
          leaf,
          outcome: z.literal('refused'),
          code: z.string(),
          detail: z.string(),
          held: hash.optional(),
        }),
        z.strictObject({ leaf, outcome: z.literal('missing'), record: idOf('rec'), version: z.int().min(1) }),
      ]),
    ),
  })
  .meta({ id: 'PeerOutcomes' })

export const summaryBody = z.strictObject({ after: idOf('rec').optional() })
export const summaryAnswer = z
  .strictObject({
    records: z
      .array(z.strictObject({ record: idOf('rec'), version: z.int().min(1), leaf: hash }))
      .max(PEER_SUMMARY_RECORDS_MAX),
    next: idOf('rec').nullable(),
  })
  .meta({ id: 'PeerSummary' })

const peerKey = z.string().max(PEER_WITNESS_KEY_CHARS_MAX)
export const checkpointBody = z.strictObject({
  log: z.string().max(1_024),
  witness: peerKey.nullable(),
  checkpoint: z.string().max(PEER_CHECKPOINT_CHARS_MAX),
})
export const checkpointAnswer = z
  .union([
    z.strictObject({ outcome: z.literal('cosigned'), line: z.string() }),
    z.strictObject({ outcome: z.literal('conflict'), size: z.int().min(0) }),
    z.strictObject({ outcome: z.literal('refused'), reason: z.string() }),
  ])
  .meta({ id: 'PeerCosigned' })
