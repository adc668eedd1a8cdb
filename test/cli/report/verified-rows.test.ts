import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { formatRows } from '../../../cli/commands/report.ts'
import { NO_MAP } from '../../../cli/report/control-map.ts'
import { withVerifiedRows } from '../../../cli/report/verified-rows.ts'
import { VerificationError } from '../../../sdk/verify/errors.ts'
import { toBase64 } from '../../../src/proof/bytes.ts'
import { sampled } from '../../helpers/runs.ts'
import { bundleTexts, rangeOf, selectionOf, type TestBundle } from '../../helpers/test-bundle.ts'
import { makeChain, makeSigner } from '../../helpers/test-chain.ts'

const chain = makeChain()
const key = makeSigner()
chain.registerSigningKey(key)
const line = chain.notarize({}, undefined, { status: 'denied' })
const own = chain.notarize({}, undefined, { status: 'ok' }, key)
const batch = chain.notarizeBatch(2)
const BUNDLES: readonly TestBundle[] = [
  rangeOf(chain, { from: line.seq - 1, to: batch.seq }),
  selectionOf(chain, { record: batch.documents[1]!.subject }, [{ line: batch, items: [1] }]),
]
const OTHER_KEY = { alg: 'EdDSA', spki: toBase64(makeSigner().key.spki) }

/** Returns the report. Returns null if the bundle does not verify. */
async function reportOf(texts: readonly string[]): Promise<string | null> {
  const source = `${texts.join('\n')}\n`
  try {
    return await withVerifiedRows(source, {}, async (verified) =>
      (await Array.fromAsync(formatRows(verified, NO_MAP, 'json'))).join(''),
    )
  } catch (error) {
    if (error instanceof VerificationError) return null
    throw error
  }
}

type Part = Record<string, unknown>

function partsOf(value: unknown, path: readonly string[] = []): string[][] {
  if (value === null || typeof value !== 'object') return []
  const below = Object.entries(value).flatMap(([name, member]) => partsOf(member, [...path, name]))
  return [[...path], ...below]
}

function changed(text: string, path: readonly string[], change: (part: Part) => void): string {
  const copy = JSON.parse(text)
  change(path.reduce((part, name) => part[name], copy))
  return JSON.stringify(copy)
}

/** Values that an attacker could give to an existing or an added member. */
const VALUES: readonly unknown[] = [null, true, 1, 'server', [], OTHER_KEY]
const MORE = ['signer', 'signedBy', 'received', 'items', 'references', 'tool', 'type']

/** Every change of a member that is tried: a line of the bundle, the path of the object, and the member's new value. */
function changesOf(texts: readonly string[]) {
  return texts.flatMap((text, i) => {
    const line = JSON.parse(text)
    return partsOf(line).flatMap((path) => {
      const names = Object.keys(path.reduce((value, name) => value[name], line))
      return [
        ...names.flatMap((name) => [...VALUES, undefined].map((value) => ({ name, value }))),
        ...MORE.flatMap((name) => [null, OTHER_KEY, 'x'].map((value) => ({ name, value }))),
      ].map((change) => ({ i, path, ...change }))
    })
  })
}

/** Outside of CI a part of the changes is tried. The number is prime, so that each member and each value occurs. */
const STEP = 13

test('any changed member of a bundle is refused or leaves the report unchanged', async () => {
  let verified = 0
  for (const bundle of BUNDLES) {
    const texts = bundleTexts(bundle)
    const report = await reportOf(texts)
    assert.ok(report)
    for (const { i, path, name, value } of sampled(changesOf(texts), STEP)) {
      const copy = texts.with(
        i,
        changed(texts[i]!, path, (of) => {
          if (value === undefined) delete of[name]
          else of[name] = value
        }),
      )
      const found = await reportOf(copy)
      if (found === null) continue
      verified++
      assert.equal(found, report, `line ${i}, ${[...path, name].join('.')}: ${JSON.stringify(value)}`)
    }
  }
  // Elsewhere the sample has few changes that both readers accept.
  assert.ok(verified > (process.env['CI'] === undefined ? 0 : 20))
})

test('the report names each entry’s signer by the chain’s keys, and leaves no file behind', async () => {
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith('tallystick-report-'))
  const texts = bundleTexts(rangeOf(chain, { from: 0, to: batch.seq }))
  const { rows } = JSON.parse((await reportOf(texts))!)
  const signed = rows.map(({ seq, signedBy }: { seq: number; signedBy: string }) => [seq, signedBy])
  assert.deepEqual(
    signed.filter(([, signedBy]: unknown[]) => signedBy !== 'server'),
    [[own.seq, 'agent']],
  )
  assert.equal(rows.length, chain.lines.length + 1)
  const after = readdirSync(tmpdir()).filter((name) => name.startsWith('tallystick-report-'))
  assert.deepEqual(
    after.filter((name) => !before.includes(name)),
    [],
  )
})
