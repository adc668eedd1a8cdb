import { toBase64 } from '../../src/proof/bytes.ts'
import type { JsonObject } from '../../src/proof/json/json-value.ts'
import type { EntryKind } from '../../src/proof/statement/kinds.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'

const END = '01jegv5gyme00r000000000001'
export const [LED, AGT, KEY, REC, BAT, CMP, PEER] = ['led', 'agt', 'key', 'rec', 'bat', 'cmp', 'peer'].map(
  (prefix) => `${prefix}_${END}`,
) as [string, string, string, string, string, string, string]
export const THERE = LED.replace('1', '2')
export const HASH = 'ab'.repeat(32)
export const TIME = '2026-11-20T12:00:00.000Z'
export const SPKI = toBase64(makeEd25519Signer(nativeProviders.sha256, new Uint8Array(32)).key.spki)
export const ENVELOPE_KEY = { kid: HASH, alg: 'EdDSA', spki: SPKI }

type Sample = { readonly subjects: readonly string[]; readonly predicate: JsonObject }

export const BY_KEY = { ledger: LED, actor: AGT, key: KEY, recordedAt: TIME }
export const BY_SYSTEM = { ledger: LED, actor: 'system', recordedAt: TIME }
export const FIRST = { ...BY_KEY, record: REC, version: 1 }
export const LATER = { ...FIRST, version: 2, previous: HASH, from: 'CREATED', to: 'ACTIVE' }
export const SIGNAL = { decision: 'SETTLE', code: 'accepted', failingRules: [], validUntil: null }
export const KEY_TERMS = { agent: AGT, scopes: ['agents:manage', 'records:read:own'], expiresAt: null }
export const DEFINITION = {
  name: 'Müller & Söhne',
  issuer: 'https://ledger.example',
  origin: `ledger.example/${LED}`,
  envelopeKey: ENVELOPE_KEY,
  noteKey: SPKI,
  types: { 'generic/1': HASH },
}

export function identity(ledger: string): JsonObject {
  return {
    ledger,
    url: 'https://ledger.example/base',
    origin: `ledger.example/${ledger}`,
    genesis: HASH,
    envelopeKey: ENVELOPE_KEY,
  }
}

export const RECEIVED = {
  ledger: THERE,
  seq: 41,
  leaf: HASH,
  kind: 'record-activated',
  record: REC,
  version: 2,
}
export const OFFER = { peer: PEER, ledger: THERE, seq: 9, leaf: HASH }
export const OFFERED = { ledger: LED, actor: `${THERE}/${AGT}`, offer: OFFER }
const ENTRY = `${THERE}/41`
export const STM = `stm_${END}`
export const ISSUERS = [
  { issuer: 'https://build.example', keys: [{ kid: '6b31', alg: 'EdDSA', spki: SPKI }] },
]

const SIGNATURE = `${'A'.repeat(86)}==`

export const SAMPLES: Readonly<Record<EntryKind, Sample>> = {
  'ledger-created': { subjects: [LED], predicate: { ...BY_SYSTEM, definition: DEFINITION } },
  'server-key-rotated': { subjects: [LED], predicate: { ...BY_SYSTEM, newKey: ENVELOPE_KEY } },
  'agent-registered': { subjects: [AGT], predicate: { ...BY_SYSTEM, agent: AGT, name: 'pricing' } },
  'agent-disabled': { subjects: [AGT], predicate: { ...BY_KEY, agent: AGT, name: 'pricing' } },
  'agent-key-registered': {
    subjects: [AGT],
    predicate: {
      ...BY_KEY,
      agent: AGT,
      newKey: ENVELOPE_KEY,
      required: true,
      proof: SIGNATURE,
      endorsement: { kid: HASH, signature: SIGNATURE },
    },
  },
  'agent-key-revoked': { subjects: [AGT], predicate: { ...BY_KEY, agent: AGT, kid: HASH } },
  'key-created': { subjects: [KEY], predicate: { ...BY_KEY, ...KEY_TERMS } },
  'key-revoked': { subjects: [KEY], predicate: { ...BY_KEY, ...KEY_TERMS, expiresAt: TIME } },
  'type-registered': { subjects: ['copper.order/12'], predicate: BY_KEY },
  'record-notarized': { subjects: [REC], predicate: { ...FIRST, type: 'generic/1', parent: REC } },
  'batch-notarized': {
    subjects: [BAT],
    predicate: { ...BY_KEY, batch: BAT, count: 2_048, tree: 'RFC9162_SHA256' },
  },
  'record-created': {
    subjects: [REC],
    predicate: {
      ...FIRST,
      to: 'CREATED',
      type: 'task/1',
      typeDigest: HASH,
      gate: 'auto',
      maxRevisions: 0,
      performer: AGT,
      deadline: TIME,
      tolerances: { quantity: { percent: '5' } },
    },
  },
  'record-activated': { subjects: [REC], predicate: LATER },
  'completion-submitted': { subjects: [REC, CMP], predicate: { ...LATER, completion: CMP } },
  'completion-verified': {
    subjects: [REC, CMP, `${CMP}/values`],
    predicate: {
      ...LATER,
      completion: CMP,
      outcome: 'fail',
      rules: [
        { id: 'quantity', outcome: 'fail', code: 'missing_value' },
        { id: 'price', outcome: 'pass' },
      ],
    },
  },
  'verdict-rendered': {
    subjects: [REC, CMP, `${REC}/reason`],
    predicate: { ...LATER, completion: CMP, verdict: 'accept', by: 'principal', signal: SIGNAL },
  },
  'verdict-overturned': {
    subjects: [REC, CMP],
    predicate: { ...LATER, supersedes: HASH, signal: { ...SIGNAL, decision: 'RELEASE', validUntil: TIME } },
  },
  'revision-requested': { subjects: [REC, `${REC}/reason`], predicate: { ...LATER, completion: CMP } },
  'record-cancelled': { subjects: [REC], predicate: { ...LATER, to: 'CANCELLED' } },
  'record-expired': { subjects: [REC], predicate: { ...LATER, ...BY_KEY, to: 'EXPIRED' } },
  'payload-erased': {
    subjects: [`${CMP}/values`],
    predicate: { ...BY_KEY, seq: 0, code: 'gdpr_article_17' },
  },
  'ledger-restored': {
    subjects: [LED],
    predicate: { ...BY_SYSTEM, known: { size: 2, chain: HASH }, found: { size: 1, chain: HASH } },
  },
  'peer-added': {
    subjects: [PEER],
    predicate: { ...BY_SYSTEM, tokenHash: HASH, inviter: identity(LED), invited: identity(THERE) },
  },
  'peer-suspended': { subjects: [PEER], predicate: { ...BY_KEY, code: 'maintenance' } },
  'peer-resumed': { subjects: [PEER], predicate: { ...BY_KEY, code: 'maintenance' } },
  'peer-revoked': { subjects: [PEER], predicate: { ...BY_KEY, code: 'contract_ended' } },
  'peer-key-rotated': {
    subjects: [PEER],
    predicate: {
      ...BY_SYSTEM,
      newKey: ENVELOPE_KEY,
      received: { ...RECEIVED, kind: 'server-key-rotated', record: null, version: null },
    },
  },
  'record-shared': {
    subjects: [REC],
    predicate: { ...BY_KEY, record: REC, share: [{ peer: PEER, documents: 'whole' }] },
  },
  'entry-received': { subjects: [ENTRY], predicate: { ...BY_SYSTEM, peer: PEER, received: RECEIVED } },
  'step-offered': {
    subjects: [REC, CMP],
    predicate: {
      ...BY_KEY,
      peer: PEER,
      record: REC,
      step: 'completion-submitted',
      version: 3,
      previous: HASH,
      completion: CMP,
    },
  },
  'offer-refused': {
    subjects: [ENTRY],
    predicate: {
      ...BY_SYSTEM,
      peer: PEER,
      record: REC,
      code: 'transition_refused',
      received: { ...RECEIVED, kind: 'step-offered', version: null },
    },
  },
  'registration-policy-set': {
    subjects: [LED],
    predicate: { ...BY_KEY, issuers: ISSUERS, contentTypes: ['application/spdx+json'] },
  },
  'statement-registered': {
    subjects: [STM],
    predicate: {
      ...BY_KEY,
      policy: HASH,
      issuer: 'https://build.example',
      subject: 'pkg:generic/copper@1',
      contentType: 'application/spdx+json',
      kid: '6b31',
      payload: HASH,
    },
  },
  'retention-set': {
    subjects: [LED],
    predicate: { ...BY_KEY, days: 183, basis: 'ai_act_19', type: 'generic/1', agent: AGT },
  },
  'hold-set': {
    subjects: [LED],
    predicate: { ...BY_KEY, case: '2027/4711', type: 'generic/1', agent: AGT, records: [REC] },
  },
  'hold-lifted': { subjects: [LED], predicate: { ...BY_KEY, case: '2027/4711', seq: 12 } },
  'subject-erased': {
    subjects: [LED],
    predicate: { ...BY_KEY, code: 'data_subject_request', erased: [40, 41], held: 1 },
  },
  'export-made': {
    subjects: [LED],
    predicate: {
      ...BY_KEY,
      of: { type: 'generic/1', agent: AGT, trace: '0af7651916cd43dd8448eb211c80319c' },
      from: 0,
      to: 99,
      documents: 'withheld',
    },
  },
}
