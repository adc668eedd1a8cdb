import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { utf8Encode } from '../../../src/proof/bytes.ts'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import { ENTRY_KINDS, type EntryKind } from '../../../src/proof/statement/kinds.ts'
import { buildStatement, parseStatement } from '../../../src/proof/statement/statement.ts'
import { refuses } from '../refuses.ts'
import {
  AGT,
  BY_KEY,
  BY_SYSTEM,
  CMP,
  ENVELOPE_KEY,
  HASH,
  identity,
  KEY,
  LED,
  OFFER,
  OFFERED,
  PEER,
  REC,
  RECEIVED,
  SAMPLES,
  THERE,
} from '../samples.ts'

const RECEIVED_KINDS: ReadonlySet<EntryKind> = new Set(
  (Object.keys(ENTRY_KINDS) as EntryKind[]).filter(
    (kind) => ENTRY_KINDS[kind].receivedBy === 'entry-received',
  ),
)

type Change = { readonly subjects?: readonly string[]; readonly predicate?: object }

function parse(kind: EntryKind, { subjects, predicate }: Change) {
  const sample = SAMPLES[kind]
  const named = (subjects ?? sample.subjects).map((name) => ({ name, sha256: HASH }))
  return parseStatement(utf8Encode(buildStatement(kind, named, { ...sample.predicate, ...predicate })))
}

const peer = (digit: string) => ({ peer: PEER.replace('1', digit), documents: 'digests' })
const share = (...digits: string[]) => ({ share: digits.map(peer) })
const offered = { ...OFFERED, key: undefined }

describe('accepts', () => {
  const good: readonly (readonly [string, EntryKind, Change])[] = [
    [
      'a peering of the invited, with its counterpart',
      'peer-added',
      { predicate: { ledger: THERE, counterpart: HASH } },
    ],
    [
      'a record shared with eight',
      'record-shared',
      { predicate: share('0', '1', '2', '3', '4', '5', '6', '7') },
    ],
    ['a record that is shared from its creation', 'record-created', { predicate: share('1', '2') }],
    [
      'a record that another ledger’s agent performs',
      'record-created',
      { predicate: { ...share('1'), performer: `${THERE}/${AGT}` } },
    ],
    [
      'an offered activation',
      'step-offered',
      { subjects: [REC], predicate: { step: 'record-activated', completion: undefined } },
    ],
    ['an activation that was offered', 'record-activated', { predicate: offered }],
    ['a completion that was offered', 'completion-submitted', { predicate: offered }],
    ['an offer for another agent', 'step-offered', { predicate: { onBehalfOf: AGT } }],
  ]
  for (const [what, kind, change] of good) test(what, () => assert.equal(parse(kind, change).kind, kind))

  for (const kind of RECEIVED_KINDS) {
    test(`the receipt of a shared ${kind}`, () => {
      const record = Object.hasOwn(ENTRY_KINDS[kind].fields.required, 'record') ? REC : null
      const version = ENTRY_KINDS[kind].movesRecord ? 2 : null
      assert.ok(parse('entry-received', { predicate: { received: { ...RECEIVED, kind, record, version } } }))
    })
  }
})

test('a remote agent has no key and no onBehalfOf', () => {
  const { actor, key, onBehalfOf } = parse('record-activated', { predicate: offered })
  assert.deepEqual({ actor, key, onBehalfOf }, { actor: `${THERE}/${AGT}`, key: null, onBehalfOf: null })
})

const P = 'statement_predicate'
const S = 'statement_subject'

describe('refuses', () => {
  const received = (change: object): Change => ({ predicate: { received: { ...RECEIVED, ...change } } })
  const wrong: readonly (readonly [string, ProofErrorCode, EntryKind, Change])[] = [
    ['a peering by an agent', P, 'peer-added', { predicate: BY_KEY }],
    ['a peering of two others', P, 'peer-added', { predicate: { ledger: LED.replace('1', '3') } }],
    ['a peering with itself', P, 'peer-added', { predicate: { invited: identity(LED), counterpart: HASH } }],
    ['an inviter with a counterpart', P, 'peer-added', { predicate: { counterpart: HASH } }],
    ['an invited without one', P, 'peer-added', { predicate: { ledger: THERE } }],
    [
      'an origin of another ledger',
      P,
      'peer-added',
      { predicate: { invited: { ...identity(THERE), origin: `a/${LED}` } } },
    ],
    [
      'an origin that cannot name a note',
      P,
      'peer-added',
      { predicate: { invited: { ...identity(THERE), origin: `a+b/${THERE}` } } },
    ],
    [
      'an origin without a host',
      P,
      'peer-added',
      { predicate: { invited: { ...identity(THERE), origin: `/${THERE}` } } },
    ],
    [
      'an address with a space',
      P,
      'peer-added',
      { predicate: { invited: { ...identity(THERE), url: 'https://a b' } } },
    ],
    [
      'an address of another scheme',
      P,
      'peer-added',
      { predicate: { invited: { ...identity(THERE), url: 'ftp://a' } } },
    ],
    [
      'an identity with a member more',
      P,
      'peer-added',
      { predicate: { inviter: { ...identity(LED), name: 'a' } } },
    ],
    ['a suspension by system', P, 'peer-suspended', { predicate: { ...BY_SYSTEM, key: undefined } }],
    ['a record shared by system', P, 'record-shared', { predicate: { ...BY_SYSTEM, key: undefined } }],
    ['an offer by system', P, 'step-offered', { predicate: { ...BY_SYSTEM, key: undefined } }],
    ['a record shared with nobody', P, 'record-shared', { predicate: share() }],
    ['a record shared with nine', P, 'record-shared', { predicate: share(...'023456789') }],
    ['peers out of order', P, 'record-shared', { predicate: share('2', '1') }],
    ['a peer twice', P, 'record-created', { predicate: share('1', '1') }],
    [
      'documents shared by half',
      P,
      'record-shared',
      { predicate: { share: [{ peer: PEER, documents: 'half' }] } },
    ],
    ['another record than its subject', S, 'record-shared', { predicate: { record: REC.replace('1', '2') } }],
    [
      'a performer of its own ledger, written as a remote one',
      P,
      'record-created',
      { predicate: { ...share('1'), performer: `${LED}/${AGT}` } },
    ],
    [
      'a remote performer of what is not shared',
      P,
      'record-created',
      { predicate: { performer: `${THERE}/${AGT}` } },
    ],

    ['a receipt by an agent', P, 'entry-received', { predicate: BY_KEY }],
    [
      'what came from the ledger itself',
      P,
      'entry-received',
      { subjects: [`${LED}/41`], ...received({ ledger: LED }) },
    ],
    ['a record event without a record', P, 'entry-received', received({ record: null })],
    ['a record event without a version', P, 'entry-received', received({ version: null })],
    ['an erasure with a version', P, 'entry-received', received({ kind: 'payload-erased', record: null })],
    ['an erasure with a record', P, 'entry-received', received({ kind: 'payload-erased', version: null })],
    ['what was received with a member more', P, 'entry-received', received({ more: 1 })],
    ['a kind that nobody knows', P, 'entry-received', received({ kind: 'constructor' })],
    ['another seq than its subject', S, 'entry-received', received({ seq: 42 })],
    ['another ledger than its subject', S, 'entry-received', received({ ledger: LED.replace('1', '3') })],
    ['another leaf than its subject', S, 'entry-received', received({ leaf: 'cd'.repeat(32) })],
    [
      'a refusal of an offer of another record',
      P,
      'offer-refused',
      {
        predicate: {
          received: { ...RECEIVED, kind: 'step-offered', version: null, record: REC.replace('1', '2') },
        },
      },
    ],
    ['a refusal of what is no offer', P, 'offer-refused', received({})],
    ['a rotation of what is none', P, 'peer-key-rotated', received({})],
    [
      'a rotation without its key',
      P,
      'peer-key-rotated',
      { predicate: { newKey: { ...ENVELOPE_KEY, kid: '' } } },
    ],

    ['an offer of another step', P, 'step-offered', { predicate: { step: 'record-cancelled' } }],
    ['an offer of a first version', P, 'step-offered', { predicate: { version: 1 } }],
    ['an offered completion without evidence', S, 'step-offered', { subjects: [REC] }],
    ['an offered completion without its id', P, 'step-offered', { predicate: { completion: undefined } }],
    ['an offered activation with evidence', S, 'step-offered', { predicate: { step: 'record-activated' } }],
    [
      'an offered activation with a completion',
      P,
      'step-offered',
      { subjects: [REC], predicate: { step: 'record-activated' } },
    ],
    [
      'another completion than its subject',
      S,
      'step-offered',
      { predicate: { completion: CMP.replace('1', '2') } },
    ],

    [
      'a remote agent without an offer',
      P,
      'record-activated',
      { predicate: { ...offered, offer: undefined } },
    ],
    ['an offer taken by an agent of the ledger', P, 'record-activated', { predicate: { offer: OFFER } }],
    ['an offer taken by system', P, 'completion-submitted', { predicate: { ...offered, actor: 'system' } }],
    ['a remote agent with a key', P, 'record-activated', { predicate: OFFERED }],
    [
      'a remote agent that acts for another',
      P,
      'record-activated',
      { predicate: { ...offered, onBehalfOf: AGT } },
    ],
    [
      'an offer of another ledger than its agent’s',
      P,
      'record-activated',
      { predicate: { ...offered, offer: { ...OFFER, ledger: LED.replace('1', '3') } } },
    ],
    [
      'an offer of the ledger itself',
      P,
      'record-activated',
      { predicate: { ...offered, actor: `${LED}/${AGT}`, offer: { ...OFFER, ledger: LED } } },
    ],
    ['a remote agent that judges', P, 'verdict-rendered', { predicate: offered }],
    [
      'a remote agent that creates',
      P,
      'record-created',
      { predicate: { actor: `${THERE}/${AGT}`, key: undefined } },
    ],
    ['an offer of a cancellation', P, 'record-cancelled', { predicate: { offer: OFFER } }],
    ['an agent without a key', P, 'record-activated', { predicate: { key: undefined } }],
    ['a peer by a key', P, 'peer-added', { predicate: { key: KEY } }],
  ]
  for (const [what, code, kind, change] of wrong) test(what, () => refuses(code, () => parse(kind, change)))

  for (const kind of Object.keys(ENTRY_KINDS) as EntryKind[]) {
    if (RECEIVED_KINDS.has(kind)) continue
    test(`a receipt of ${kind}, which is never shared`, () => {
      for (const [record, version] of [
        [REC, 1],
        [REC, null],
        [null, null],
      ])
        refuses(P, () => parse('entry-received', received({ kind, record, version })))
    })
  }

  for (const name of [
    `${THERE}/`,
    `${THERE}/-1`,
    `${THERE}/041`,
    `${THERE}/4e1`,
    `${THERE}/9007199254740992`,
    THERE,
    '/41',
    `${REC}/41`,
  ])
    test(`an entry called ${name}`, () => refuses(S, () => parse('entry-received', { subjects: [name] })))
})
