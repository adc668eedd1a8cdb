import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { utf8Encode } from '../../../src/proof/bytes.ts'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import type { JsonValue } from '../../../src/proof/json/json-value.ts'
import {
  ENTRY_KINDS,
  type EntryKind,
  predicateTypeOf,
  type Subject,
} from '../../../src/proof/statement/kinds.ts'
import { buildStatement, parseStatement } from '../../../src/proof/statement/statement.ts'
import { refuses } from '../refuses.ts'
import {
  AGT,
  BAT,
  CMP,
  DEFINITION,
  ENVELOPE_KEY,
  HASH,
  KEY,
  LED,
  REC,
  SAMPLES,
  SIGNAL,
  SPKI,
  TIME,
} from '../samples.ts'
import { vectors } from '../vectors.ts'

const KINDS = Object.keys(ENTRY_KINDS) as EntryKind[]
const named = (names: readonly string[]): Subject[] => names.map((name) => ({ name, sha256: HASH }))

function build(
  kind: EntryKind,
  change: { subjects?: readonly string[]; predicate?: object } = {},
): Uint8Array {
  const { subjects, predicate } = SAMPLES[kind]
  const members = { ...predicate, ...change.predicate }
  return utf8Encode(buildStatement(kind, named(change.subjects ?? subjects), members))
}

for (const kind of KINDS) {
  test(`a ${kind} statement parses to the members from which it was built`, () => {
    const { subjects, predicate } = SAMPLES[kind]
    const parsed = parseStatement(build(kind))
    assert.equal(parsed.kind, kind)
    assert.deepEqual(parsed.subjects, named(subjects))
    assert.deepEqual(parsed.predicate, predicate)
    assert.equal(parsed.ledger, LED)
    assert.equal(parsed.actor, predicate['actor'])
    assert.equal(parsed.key, predicate['key'] ?? null)
    assert.equal(parsed.onBehalfOf, null)
    assert.equal(parsed.recordedAt, TIME)
    assert.equal(parsed.recordedAtMs, Date.parse(TIME))
  })

  test(`a ${kind} statement without a required member is refused; without an optional member it parses`, () => {
    const optional = [
      'parent',
      'performer',
      'deadline',
      'tolerances',
      'endorsement',
      'contentTypes',
      ...(kind === 'record-cancelled' ? ['completion'] : []),
      ...(kind === 'retention-set' || kind === 'hold-set' ? ['type', 'agent', 'records'] : []),
    ]
    for (const name of Object.keys(SAMPLES[kind].predicate)) {
      const bytes = build(kind, { predicate: { [name]: undefined } })
      if (optional.includes(name)) assert.ok(parseStatement(bytes))
      else refuses('statement_predicate', () => parseStatement(bytes))
    }
  })

  test(`a ${kind} statement with an unknown member, or a member of a wrong type, is refused`, () => {
    for (const name of Object.keys(SAMPLES[kind].predicate)) {
      for (const value of [null, true, '', 0.5, -1, [null], { constructor: 1 }]) {
        if (name === 'expiresAt' && value === null) continue
        if (name === 'required' && value === true) continue
        if (name === 'days' && value === null) continue
        if (name === 'tolerances' && typeof value === 'object' && value !== null && !Array.isArray(value))
          continue
        refuses('statement_predicate', () => parseStatement(build(kind, { predicate: { [name]: value } })))
      }
    }
    for (const name of ['extra', 'constructor', 'toString', 'references', 'share', 'home']) {
      refuses('statement_predicate', () => parseStatement(build(kind, { predicate: { [name]: AGT } })))
    }
  })

  test(`a ${kind} statement with a missing, additional or renamed subject is refused`, () => {
    const { subjects } = SAMPLES[kind]
    const wrong = [
      subjects.slice(1),
      [...subjects, `${REC}/reason`, REC],
      ['whk_01jegv5gyme00r000000000001', ...subjects.slice(1)],
      [...subjects.slice(0, -1), 'x'],
      [...subjects.slice(0, -1), ''],
    ]
    for (const names of wrong)
      refuses('statement_subject', () => parseStatement(build(kind, { subjects: names })))
  })
}

test('a statement may have onBehalfOf and traceparent', () => {
  const predicate = {
    onBehalfOf: AGT,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  }
  const parsed = parseStatement(build('record-notarized', { predicate: { ...predicate, occurredAt: TIME } }))
  assert.equal(parsed.onBehalfOf, AGT)
})

test('a batch may hold one record, and a verification at most 256 rules', () => {
  assert.ok(parseStatement(build('batch-notarized', { predicate: { count: 1 } })))
  const rules = (count: number): object => ({ rules: Array(count).fill({ id: 'a', outcome: 'pass' }) })
  assert.ok(parseStatement(build('completion-verified', { predicate: rules(256) })))
  refuses('statement_predicate', () =>
    parseStatement(build('completion-verified', { predicate: rules(257) })),
  )
})

describe('payload-erased with the subject', () => {
  for (const name of [REC, CMP, `${REC}/reason`, `${CMP}/values`]) {
    test(name, () => assert.ok(parseStatement(build('payload-erased', { subjects: [name] }))))
  }
  for (const name of [LED, `${REC}/values`, `${CMP}/reason`, `${REC}/reason/x`, `${REC}/`, `/${REC}`]) {
    test(`${name} is refused with statement_subject`, () => {
      refuses('statement_subject', () => parseStatement(build('payload-erased', { subjects: [name] })))
    })
  }
})

describe('refuses', () => {
  const wrong: readonly (readonly [string, ProofErrorCode, EntryKind, object])[] = [
    ['an agent without a key', 'statement_predicate', 'record-notarized', { key: undefined }],
    ['a system with a key', 'statement_predicate', 'agent-registered', { key: KEY }],
    ['a system that acts for an agent', 'statement_predicate', 'agent-registered', { onBehalfOf: AGT }],
    ['an actor that is neither agent nor system', 'statement_predicate', 'record-notarized', { actor: KEY }],
    ['a ledger made by an agent', 'statement_predicate', 'ledger-created', { actor: AGT, key: KEY }],
    [
      'another ledger than its subject',
      'statement_subject',
      'ledger-created',
      { ledger: LED.replace('1', '2'), definition: { ...DEFINITION, origin: `x/${LED.replace('1', '2')}` } },
    ],
    [
      'an origin of another ledger',
      'statement_predicate',
      'ledger-created',
      { definition: { ...DEFINITION, origin: 'ledger.example' } },
    ],
    [
      'an origin that cannot name a note',
      'statement_predicate',
      'ledger-created',
      { definition: { ...DEFINITION, origin: `a b/${LED}` } },
    ],
    [
      'an origin without a host',
      'statement_predicate',
      'ledger-created',
      { definition: { ...DEFINITION, origin: `/${LED}` } },
    ],
    [
      'an origin with a plus',
      'statement_predicate',
      'ledger-created',
      { definition: { ...DEFINITION, origin: `a+b/${LED}` } },
    ],
    [
      'a definition with a control character in its name',
      'statement_predicate',
      'ledger-created',
      { definition: { ...DEFINITION, name: 'a\u0007' } },
    ],
    [
      'a definition with an unknown member',
      'statement_predicate',
      'ledger-created',
      { definition: { ...DEFINITION, x: 1 } },
    ],
    [
      'a definition with a type of no version',
      'statement_predicate',
      'ledger-created',
      { definition: { ...DEFINITION, types: { generic: HASH } } },
    ],
    [
      'a definition with a type without digest',
      'statement_predicate',
      'ledger-created',
      { definition: { ...DEFINITION, types: { 'generic/1': null } } },
    ],
    [
      'a note key that is no key',
      'statement_predicate',
      'ledger-created',
      { definition: { ...DEFINITION, noteKey: SPKI.slice(4) } },
    ],
    [
      'an envelope key of another algorithm',
      'statement_predicate',
      'server-key-rotated',
      { newKey: { ...ENVELOPE_KEY, alg: 'ES256' } },
    ],
    [
      'an envelope key without its kid',
      'statement_predicate',
      'server-key-rotated',
      { newKey: { ...ENVELOPE_KEY, kid: undefined } },
    ],
    [
      'another agent than its subject',
      'statement_subject',
      'agent-registered',
      { agent: AGT.replace('1', '2') },
    ],
    [
      'another record than its subject',
      'statement_subject',
      'record-notarized',
      { record: REC.replace('1', '2') },
    ],
    [
      'another batch than its subject',
      'statement_subject',
      'batch-notarized',
      { batch: BAT.replace('1', '2') },
    ],
    [
      'another completion than its subject',
      'statement_subject',
      'completion-submitted',
      { completion: CMP.replace('1', '2') },
    ],
    [
      'another completion than that of the overturned verdict',
      'statement_subject',
      'verdict-overturned',
      { completion: CMP.replace('1', '2') },
    ],
    ['a first event with a later version', 'statement_predicate', 'record-notarized', { version: 2 }],
    ['a later event with the first version', 'statement_predicate', 'record-activated', { version: 1 }],
    ['a state that nobody knows', 'statement_predicate', 'record-activated', { from: 'DONE' }],
    ['a batch of none', 'statement_predicate', 'batch-notarized', { count: 0 }],
    ['a batch whose paths are longer than 11', 'statement_predicate', 'batch-notarized', { count: 2_049 }],
    [
      'scopes out of order',
      'statement_predicate',
      'key-created',
      { scopes: ['records:write', 'agents:manage'] },
    ],
    ['a scope twice', 'statement_predicate', 'key-created', { scopes: ['records:write', 'records:write'] }],
    ['scopes that are no list', 'statement_predicate', 'key-created', { scopes: 'records:write' }],
    [
      'an accepted verdict that holds',
      'statement_predicate',
      'verdict-rendered',
      { signal: { ...SIGNAL, decision: 'HOLD' } },
    ],
    ['a rejected verdict that settles', 'statement_predicate', 'verdict-rendered', { verdict: 'reject' }],
    [
      'a verdict that releases',
      'statement_predicate',
      'verdict-rendered',
      { signal: { ...SIGNAL, decision: 'RELEASE' } },
    ],
    ['a rule without an outcome', 'statement_predicate', 'completion-verified', { rules: [{ id: 'a' }] }],
    ['a hash in upper case', 'statement_predicate', 'record-activated', { previous: HASH.toUpperCase() }],
    [
      'a trace id of zeros',
      'statement_predicate',
      'record-notarized',
      { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` },
    ],
  ]
  for (const [what, code, kind, predicate] of wrong) {
    test(what, () => refuses(code, () => parseStatement(build(kind, { predicate }))))
  }

  for (const time of [
    '2026-11-20T12:00:00Z',
    '2026-11-20T12:00:00.0000Z',
    '2026-02-30T12:00:00.000Z',
    '2026-11-20T12:00:00.000+00:00',
    '2026-11-20 12:00:00.000Z',
    '2026-11-20T24:00:00.000Z',
    '+012026-11-20T12:00:00.000Z',
    'T.T.T.T-T.T.T.T.T.T.T.TZ',
    '2026-99-99T99:99:99.999Z',
  ]) {
    test(`the time ${time}`, () => {
      refuses('statement_predicate', () =>
        parseStatement(build('record-notarized', { predicate: { recordedAt: time } })),
      )
    })
  }
})

describe('the in-toto statement', () => {
  const good = JSON.parse(vectors.entries[1]!.statement) as Record<string, JsonValue>
  const parse = (statement: JsonValue): unknown => parseStatement(utf8Encode(JSON.stringify(statement)))
  const digest = { sha256: HASH }

  const wrong: readonly (readonly [string, ProofErrorCode, JsonValue])[] = [
    ['no object', 'statement_structure', []],
    ['null', 'statement_structure', null],
    ['text', 'statement_structure', 'x'],
    ['another type', 'statement_structure', { ...good, _type: 'https://in-toto.io/Statement/v0.1' }],
    ['a member too many', 'statement_structure', { ...good, extra: 1 }],
    [
      'no subject',
      'statement_structure',
      { _type: good['_type']!, predicateType: good['predicateType']!, predicate: good['predicate']! },
    ],
    ['a subject that is no list', 'statement_structure', { ...good, subject: {} }],
    ['a predicate that is no object', 'statement_structure', { ...good, predicate: [] }],
    ['a predicate type that is no text', 'statement_structure', { ...good, predicateType: 1 }],
    [
      'an unknown predicate type',
      'statement_predicate_type',
      { ...good, predicateType: predicateTypeOf('record-notarized').replace('v1', 'v2') },
    ],
    ['a subject that is no object', 'statement_subject', { ...good, subject: ['x'] }],
    ['a subject without a digest', 'statement_subject', { ...good, subject: [{ name: REC }] }],
    [
      'a subject with a member too many',
      'statement_subject',
      { ...good, subject: [{ name: REC, digest, uri: 'x' }] },
    ],
    ['a subject whose name is no text', 'statement_subject', { ...good, subject: [{ name: 1, digest }] }],
    ['a digest that is no object', 'statement_subject', { ...good, subject: [{ name: REC, digest: HASH }] }],
    [
      'a digest in upper case',
      'statement_subject',
      { ...good, subject: [{ name: REC, digest: { sha256: HASH.toUpperCase() } }] },
    ],
    [
      'a digest of another algorithm',
      'statement_subject',
      { ...good, subject: [{ name: REC, digest: { sha512: HASH } }] },
    ],
    [
      'a second digest',
      'statement_subject',
      { ...good, subject: [{ name: REC, digest: { ...digest, sha512: HASH } }] },
    ],
  ]
  for (const [what, code, statement] of wrong)
    test(`refuses ${what}`, () => refuses(code, () => parse(statement)))

  test('refuses invalid UTF-8 and text that is not strict JSON', () => {
    refuses('bad_utf8', () => parseStatement(new Uint8Array([0xff])))
    refuses('json_syntax', () => parseStatement(utf8Encode(`${vectors.entries[1]!.statement} x`)))
    const twice = vectors.entries[1]!.statement.replace('"version":1', '"version":1,"version":1')
    refuses('json_duplicate_member', () => parseStatement(utf8Encode(twice)))
  })

  test('accepts members in any order and white space', () => {
    const reordered = Object.fromEntries(Object.entries(good).reverse())
    assert.equal(parseStatement(utf8Encode(JSON.stringify(reordered, null, 2))).kind, 'record-notarized')
  })

  test('is built with escaped names, and without undefined members', () => {
    const text = buildStatement('type-registered', [{ name: 'a"b', sha256: HASH }], { a: undefined, b: 1 })
    assert.deepEqual(JSON.parse(text), {
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'a"b', digest: { sha256: HASH } }],
      predicateType: predicateTypeOf('type-registered'),
      predicate: { b: 1 },
    })
  })
})
