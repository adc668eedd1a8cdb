import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { utf8Encode } from '../../../src/proof/bytes.ts'
import { ProofError } from '../../../src/proof/error.ts'
import { ENTRY_KINDS, type EntryKind, type Subject } from '../../../src/proof/statement/kinds.ts'
import { buildStatement, parseStatement, refuseUnverifiable } from '../../../src/proof/statement/statement.ts'
import { runs } from '../../helpers/runs.ts'
import { refuses } from '../refuses.ts'
import { AGT, HASH, KEY, LED, SAMPLES, TIME } from '../samples.ts'

const KINDS = Object.keys(ENTRY_KINDS) as EntryKind[]

type Said = { readonly subjects: Subject[]; readonly predicate: object }
const said = (kind: EntryKind): Said => ({
  subjects: SAMPLES[kind].subjects.map((name) => ({ name, sha256: HASH })),
  predicate: structuredClone(SAMPLES[kind].predicate),
})

/**
 * Three sorts of values: invalid for every member, valid only for some members, and values that JSON writes
 * differently.
 */
const HOSTILE = [
  ...[undefined, null, true, false, [], {}, [null], { a: 1 }],
  ...[0, -0, 1, 1.5, -1, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e300],
  ...[
    '',
    'a"b',
    'a\\u0041',
    'a\nb',
    '\0',
    '\u0085',
    '\ud800',
    'x\udfff',
    '😂',
    'é'.repeat(300),
    'generic/1',
    '__proto__',
  ],
  ...[AGT, KEY, LED, `${AGT} `, AGT.toUpperCase(), `${LED}/${AGT}`, HASH, HASH.toUpperCase(), HASH.slice(1)],
  ...[
    TIME,
    '2026-02-29T12:00:00.000Z',
    '2026-11-20T12:00:00Z',
    '+010000-01-01T00:00:00.000Z',
    '0000-02-29T00:00:00.000Z',
  ],
]

function placesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const own = path.length === 0 ? [] : [path]
  if (typeof value !== 'object' || value === null) return own
  return [...own, ...Object.entries(value).flatMap(([name, member]) => placesOf(member, [...path, name]))]
}

function put(into: object, path: readonly string[], value: unknown): void {
  let at = into as Record<string, never>
  for (const name of path.slice(0, -1)) at = at[name]!
  // In a list undefined would become null, so the element is removed.
  const last = path.at(-1)!
  if (Array.isArray(at) && value === undefined) Array.prototype.splice.call(at, Number(last), 1)
  else at[last] = value as never
}

function codeOf(work: () => unknown): string | null {
  try {
    work()
    return null
  } catch (error) {
    assert.ok(error instanceof ProofError, `${(error as Error).stack}`)
    return error.code
  }
}

const changes = fc.record({
  kind: fc.constantFrom(...KINDS),
  place: fc.nat(),
  value: fc.constantFrom<unknown>(...HOSTILE),
  added: fc.constantFrom(
    null,
    null,
    null,
    'x',
    'constructor',
    'onBehalfOf',
    'occurredAt',
    'offer',
    'completion',
  ),
})

test('refuseUnverifiable refuses a statement exactly where parseStatement does, with the same code', () => {
  const seen = new Set<string | null>()
  fc.assert(
    fc.property(changes, ({ kind, place, value, added }) => {
      const one = said(kind)
      // A subject is never replaced as a whole, because the TypeScript types require a name and a digest for each
      // subject.
      const places = placesOf(one).filter(([of, , member]) => of === 'predicate' || member !== undefined)
      const path = added === null ? places[place % places.length]! : ['predicate', added]
      if (path.length === 1) return
      put(one, path, value)
      const { subjects, predicate } = one
      const text = codeOf(() => buildStatement(kind, subjects, predicate))
      if (text !== null) return
      const bytes = utf8Encode(buildStatement(kind, subjects, predicate))
      const parsed = codeOf(() => parseStatement(bytes))
      seen.add(parsed)
      const refused = codeOf(() =>
        refuseUnverifiable(new TextDecoder().decode(bytes), kind, subjects, predicate),
      )
      // Digests are written into the JSON without escapes. So an invalid digest may also make the JSON invalid. Then
      // parseStatement and refuseUnverifiable report different codes.
      if (path.at(-1) === 'sha256' && parsed !== null) assert.notEqual(refused, null)
      else assert.equal(refused, parsed)
    }),
    { numRuns: runs(4_000) },
  )
  for (const code of [null, 'statement_subject', 'statement_predicate', 'json_surrogate'])
    assert.ok(seen.has(code), `${code}`)
})

for (const kind of KINDS) {
  test(`a ${kind} statement with an unknown or malformed member is refused before signing`, () => {
    const { subjects, predicate } = said(kind)
    const refuse = (change: object, names: readonly Subject[] = subjects) => {
      const members = { ...predicate, ...change }
      return refuseUnverifiable(buildStatement(kind, names, members), kind, names, members)
    }
    assert.deepEqual(refuse({ x: undefined }).kind, kind)
    for (const change of [
      { x: 1 },
      { recordedAt: undefined },
      { ledger: 'led_1' },
      { recordedAt: Number.NaN },
    ])
      refuses('statement_predicate', () => refuse(change))
    refuses('statement_subject', () => refuse({}, [...subjects, ...subjects, ...subjects]))
    refuses('statement_subject', () => refuse({}, [{ ...subjects[0]!, name: 'other' }, ...subjects.slice(1)]))
  })
}

test('refuses an invalid digest and a name that is not a text, with statement_subject', () => {
  const { predicate } = said('record-notarized')
  for (const subject of [
    { name: 'rec', sha256: 'ab' },
    { name: undefined as unknown as string, sha256: HASH },
  ])
    refuses('statement_subject', () => refuseUnverifiable('', 'record-notarized', [subject], predicate))
})
