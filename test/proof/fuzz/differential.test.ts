import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Case, KINDS, type Kind, makeCase } from '../../system/fuzz/differential/cases.ts'
import { makeBases } from '../../system/fuzz/differential/ledgers.ts'
import { differenceOf } from '../../system/fuzz/differential/tally.ts'
import { type Verdict, verdictOf, writeArchive } from '../../system/fuzz/differential/typescript.ts'

/*
 * Tests the generators of cases for `npm run drill -- fuzz --differential`. That drill compares the two verifiers and
 * needs Python; this test does not.
 */

const SEED = 7

/**
 * For each kind of case: a refusal that only cases with valid syntax reach, and the minimum number of different
 * refusals in CASES cases.
 */
const CASES = 60
const REACHED: Readonly<Record<Kind, readonly [deep: string, codesMin: number]>> = {
  json: ['json_number_lossy', 4],
  statement: ['statement_predicate', 5],
  envelope: ['statement_predicate', 8],
  registered: ['cose_header', 4],
  note: ['signature_invalid', 4],
  'verifier key': ['verifier_key', 1],
  signature: ['bad_key', 1],
  receipt: ['receipt_syntax', 5],
  transparent: ['receipt_syntax', 5],
  'consistency receipt': ['receipt_syntax', 4],
  proof: ['proof_syntax', 8],
  export: ['statement_predicate', 14],
  kept: ['receipt_syntax', 4],
  bundle: ['consistency_missing', 10],
  archive: ['archive_object', 3],
  reconcile: ['leaf_mismatch', 6],
}

for (const kind of KINDS) {
  test(`hostile cases of the kind "${kind}" pass the syntax checks, and cause no crash`, async () => {
    const found = new Set<string>()
    for (let index = 0; index < CASES; index++) {
      const { outcome, code } = await judged(makeCase(SEED, index, [kind]))
      assert.notEqual(outcome, 'crash', `--seed ${SEED} --case ${index} --kind "${kind}": ${code}`)
      found.add(code || outcome)
    }
    const [deep, codesMin] = REACHED[kind]
    assert.ok(found.has(deep) && found.size >= codesMin, `${kind}: ${[...found]}`)
  })
}

async function judged(made: Case): Promise<Verdict> {
  const directory = made.archive && writeArchive(made, 'test')
  return verdictOf(directory ? { ...made, trust: { ...made.trust, directory } } : made)
}

test('a case depends only on its seed and number', () => {
  for (const kind of KINDS) {
    // For kinds with ES256 signatures, the member `parts` of a case is not compared, because these signatures differ
    // each time.
    const cases = Array.from({ length: 10 }, (_, index) => () => makeCase(SEED, index, [kind]))
    const first = cases.map((make) => make())
    const again = cases.toReversed().map((make) => make())
    const shown = ({ how, trust }: Case) => JSON.stringify([how, trust])
    assert.deepEqual(first.map(shown), again.toReversed().map(shown))
    if (!['registered', 'transparent', 'receipt'].includes(kind))
      assert.deepEqual(
        first.map(({ parts }) => parts),
        again.toReversed().map(({ parts }) => parts),
        kind,
      )
  }
  assert.notEqual(
    makeCase(SEED, 0).how + makeCase(SEED, 1).how,
    makeCase(SEED + 1, 0).how + makeCase(SEED + 1, 1).how,
  )
})

test('the unchanged base of each case verifies', async () => {
  for (const { name, chain } of makeBases().all) {
    const parts = [Buffer.from(`${chain.exportLines().join('\n')}\n`)]
    const verdict = await verdictOf({ kind: 'export', how: 'honest', trust: {}, parts })
    assert.equal(verdict.outcome, 'ok', `${name}: ${verdict.code}`)
  }
})

test('differenceOf reports another outcome, code or fact, and a crash of both', () => {
  const refused: Verdict = { outcome: 'refused', code: 'cose_header', seq: 3, facts: null, cpuMs: 1 }
  const taken: Verdict = { outcome: 'ok', code: '', seq: null, facts: { size: 4 }, cpuMs: 1 }
  const crash: Verdict = { outcome: 'crash', code: 'TypeError', seq: null, facts: null, cpuMs: 1 }
  assert.equal(differenceOf(refused, { ...refused, seq: null, cpuMs: 9 }), null)
  for (const [own, theirs] of [
    [refused, { ...refused, code: 'cose_crit' }],
    [refused, { ...refused, seq: 4 }],
    [refused, taken],
    [taken, { ...taken, facts: { size: 5 } }],
    [crash, crash],
  ] as const)
    assert.notEqual(differenceOf(own, theirs), null)
})
