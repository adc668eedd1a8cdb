import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { bundle } from '../../sdk/verify/bundle.ts'
import { VerificationError } from '../../sdk/verify/errors.ts'
import { fromBase64 } from '../../src/proof/bytes.ts'
import { exportFile } from '../../src/verify/export-file.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { type ChainVector, makeBundleVectors, makeChainVectors } from '../helpers/chain-vectors.ts'

/*
 * Tests the rules about the order of entries, and which rule is reported if several are broken. The Python verifier
 * reads the same file.
 */

type File = { readonly chains: readonly ChainVector[]; readonly bundles: readonly ChainVector[] }

const { chains, bundles } = JSON.parse(
  readFileSync(new URL('../vectors/chains.json', import.meta.url), 'utf8'),
) as File

const directory = mkdtempSync(join(tmpdir(), 'tallystick-chains-'))
after(() => rmSync(directory, { recursive: true }))

async function codeOf(vector: ChainVector): Promise<string | null> {
  const { lines, compromised = {}, receipts = [], checkpoints = [] } = vector
  const path = join(directory, 'ledger.ndjson')
  writeFileSync(path, `${lines.join('\n')}\n`)
  const since = Object.entries(compromised).map(([kid, time]) => [kid, Date.parse(time)] as const)
  const given = { checkpoints, receipts: receipts.map(fromBase64), compromised: new Map(since) }
  const { failure } = await verifyLedger(exportFile(path), { kids: [], threads: 0, ...given })
  return failure?.code ?? null
}

async function codeOfBundle({ lines }: ChainVector): Promise<string | null> {
  const found = await bundle(`${lines.join('\n')}\n`).catch((error: VerificationError) => error)
  return found instanceof VerificationError ? found.code : null
}

for (const vector of chains)
  test(`${vector.name}: ${vector.code ?? 'taken'}`, async () => {
    assert.equal(await codeOf(vector), vector.code)
  })

for (const vector of bundles)
  test(`a bundle, ${vector.name}: ${vector.code ?? 'taken'}`, async () => {
    assert.equal(await codeOfBundle(vector), vector.code)
  })

test('the file has exactly the generated chains and bundles, with the same codes', async () => {
  const made: File = { chains: makeChainVectors(), bundles: makeBundleVectors() }
  for (const part of ['chains', 'bundles'] as const)
    assert.deepEqual(
      { chains, bundles }[part].map(({ name }) => name),
      made[part].map(({ name }) => name),
    )
  for (const vector of made.chains) assert.equal(await codeOf(vector), vector.code, vector.name)
  for (const vector of made.bundles) assert.equal(await codeOfBundle(vector), vector.code, vector.name)
})
