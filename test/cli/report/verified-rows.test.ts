import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { formatRows } from '../../../cli/commands/report.ts'
import { NO_MAP } from '../../../cli/report/control-map.ts'
import { withVerifiedRows } from '../../../cli/report/verified-rows.ts'
import { VerificationError } from '../../../sdk/verify/errors.ts'
import { toBase64 } from '../../../src/proof/bytes.ts'
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

test('whatever member of a bundle is changed, it is refused, or the report says what it said', async () => {
  let verified = 0
  for (const bundle of BUNDLES) {
    const texts = bundleTexts(bundle)
    const report = await reportOf(texts)
    assert.ok(report)
    for (const [i, text] of texts.entries()) {
      for (const path of partsOf(JSON.parse(text))) {
        const part: Part = path.reduce((value, name) => value[name], JSON.parse(text))
        const changes = [
          ...Object.keys(part).flatMap((name) => VALUES.map((value) => ({ name, value }))),
          ...Object.keys(part).map((name) => ({ name, value: undefined })),
          ...MORE.flatMap((name) => [null, OTHER_KEY, 'x'].map((value) => ({ name, value }))),
        ]
        for (const { name, value } of changes) {
          const copy = texts.with(
            i,
            changed(text, path, (of) => {
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
    }
  }
  assert.ok(verified > 20)
})

test('says who signed each entry, by the keys of the chain, and leaves no file behind', async () => {
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
