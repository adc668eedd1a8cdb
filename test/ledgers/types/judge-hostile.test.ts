import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TYPE_DEFINITION_BYTES_MAX } from '../../../src/ledgers/types/limits.ts'
import { judge } from '../../../src/ledgers/types/rules/judge.ts'
import { parseRules } from '../../../src/ledgers/types/rules/rules.ts'
import { formatIdBytes } from '../../../src/proof/ids.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import type { JsonObject, JsonValue } from '../../../src/proof/json/json-value.ts'
import { ENVELOPE_BYTES_MAX } from '../../../src/proof/limits.ts'
import { DOCUMENT_BYTES_MAX } from '../../../src/proof/request-limits.ts'
import { buildStatement, parseStatement } from '../../../src/proof/statement/statement.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { signEntry } from '../../../src/signing/sign-entry.ts'

/*
 * Attacks a shared worker by types and documents. In the worst case there is the maximum number of rules, and each rule
 * reads the maximum of data. This takes up to 13 ms of CPU. It would take several times longer if the text of a value
 * were written once for each rule.
 */

const SLICE_MS_MAX = 40
const TURNS = 4
const RULES = 256
const NESTED = 30

const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i))

/** Returns as many items as fit into a document. */
function list(item: (i: number) => JsonValue): JsonValue[] {
  const items: JsonValue[] = []
  for (let bytes = 1_000; ; ) {
    const one = item(items.length)
    bytes += Buffer.byteLength(canonicalize(one)) + 1
    if (bytes > DOCUMENT_BYTES_MAX) return items
    items.push(one)
  }
}

/** An object whose member names are all different and unsorted. */
function wide(): JsonObject {
  return Object.fromEntries(times(5_800, (i) => [`k${99_999 - i}`, 1]))
}

const CORES: Record<string, JsonValue> = {
  'empty arrays': list(() => []),
  'small objects': list(() => ({ b: 1, a: 2 })),
  'one wide object': wide(),
  'a wide object that begins like money': { amount: '1', currency: 'EUR', ...wide() },
  'small numbers': list(() => 1),
  'numbers of 16 digits': list((i) => 0.1234567890123456 + i / 1e6),
  'sums of money': list((i) => ({ amount: `${i}.${i}1`, currency: 'EUR' })),
  'one long text': 'é'.repeat(32_000),
}

/** Wraps `core` many times, so that at each level a rule can point at nearly the whole document. */
function nested(core: JsonValue, wrap: (inner: JsonValue) => JsonValue): JsonValue {
  let value = core
  for (let i = 0; i < NESTED; i++) value = wrap(value)
  return value
}

const rule = (i: number, op: string, at: string, more: JsonObject = {}) => ({
  id: `r${i}`,
  op,
  expected: at,
  actual: at,
  ...more,
})

type Attack = { rules: JsonValue[]; document: JsonValue }

function attacks(core: JsonValue): Record<string, Attack> {
  const objects = nested(core, (inner) => ({ a: inner }))
  const at = (i: number) => '/a'.repeat(i % (NESTED + 1))
  return {
    'the whole': { rules: times(RULES, (i) => rule(i, 'equals', '')), document: objects },
    'the innermost, as an amount': {
      rules: times(RULES, (i) => rule(i, 'within', at(NESTED), { tolerance: { percent: '5' } })),
      document: objects,
    },
    'the innermost, as choices': {
      rules: times(RULES, (i) => rule(i, 'oneOf', at(NESTED))),
      document: objects,
    },
    'every level': { rules: times(RULES, (i) => rule(i, 'equals', at(i))), document: objects },
    'every level, as an amount': {
      rules: times(RULES, (i) => rule(i, 'within', at(i), { tolerance: { percent: '5' } })),
      document: objects,
    },
    'every level, as choices': {
      rules: times(RULES, (i) => rule(i, 'oneOf', '/0'.repeat(i % (NESTED + 1)))),
      document: nested(core, (inner) => [inner]),
    },
  }
}

/** Returns the mean CPU time in ms of a call of `work`. Other load does not count. */
function meanTurnMs(work: () => unknown): number {
  work()
  const begun = process.threadCpuUsage()
  for (let i = 0; i < TURNS; i++) work()
  const { user, system } = process.threadCpuUsage(begun)
  return (user + system) / 1000 / TURNS
}

function assertQuick(rules: JsonValue[], payload: JsonValue, evidence: JsonValue): void {
  assert.ok(canonicalize(rules).length <= TYPE_DEFINITION_BYTES_MAX)
  assert.ok(Buffer.byteLength(canonicalize(payload)) <= DOCUMENT_BYTES_MAX)
  const parsed = parseRules(rules)
  const turnMs = meanTurnMs(() => judge(parsed, { payload, evidence, tolerances: null }))
  assert.ok(turnMs < SLICE_MS_MAX, `judging took ${turnMs.toFixed(1)} ms`)
}

test('no accepted rules block the event loop, whatever documents they compare', async (t) => {
  for (const [what, core] of Object.entries(CORES)) {
    for (const [how, { rules, document }] of Object.entries(attacks(core)))
      await t.test(`${what}: ${how}`, () => assertQuick(rules, document, structuredClone(document)))
  }
})

test('comparing numbers of very different size is quick', () => {
  const percent = `5.${'0'.repeat(29)}1`
  const rules = times(RULES, (i) => rule(i, 'within', `/${i}`, { tolerance: { percent } }))
  assertQuick(
    rules,
    times(RULES, () => Number.MAX_VALUE),
    times(RULES, () => Number.MIN_VALUE),
  )
})

test('following pointers as long as a definition is quick', () => {
  const rules = times(15, (i) => rule(i, 'equals', '/a'.repeat(1_000 + i)))
  const document = nested(1, (inner) => ({ a: inner }))
  assertQuick(rules, document, document)
})

test('the results of 256 rules fit into one envelope', () => {
  const id = (i: number) => `${'r'.repeat(60)}${`${i}`.padStart(3, '0')}`
  const rules = times(RULES, (i) => ({ id: id(i), outcome: 'fail', code: 'c'.repeat(20) }))
  const uuid = new Uint8Array(16).fill(7)
  const [record, completion, ledger] = (['rec', 'cmp', 'led'] as const).map((prefix) =>
    formatIdBytes(prefix, uuid),
  )
  const sha256 = 'ab'.repeat(32)
  const statement = buildStatement(
    'completion-verified',
    [
      { name: record!, sha256 },
      { name: completion!, sha256 },
      { name: `${completion}/values`, sha256 },
    ],
    {
      ledger,
      actor: 'system',
      recordedAt: '2026-11-20T12:00:00.000Z',
      record,
      version: Number.MAX_SAFE_INTEGER,
      previous: sha256,
      from: 'SUBMITTED',
      to: 'DISCREPANT',
      completion,
      outcome: 'fail',
      rules,
    },
  )
  assert.equal(parseStatement(Buffer.from(statement)).kind, 'completion-verified')
  const signer = makeEd25519Signer(nativeProviders.sha256, new Uint8Array(32))
  const issuer = `https://${'i'.repeat(248)}`
  const { envelope } = signEntry(signer, { issuer, subject: record!, recordedAtMs: 0 }, statement)
  assert.ok(envelope.length <= ENVELOPE_BYTES_MAX, `${envelope.length}`)
})
