import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '../../sdk/errors.ts'
import * as verify from '../../sdk/verify/index.ts'
import { END_LINE_BYTES_MAX } from '../../src/proof/limits.ts'
import { bundleTexts, rangeOf, selectionOf } from '../helpers/test-bundle.ts'
import { makeChain } from '../helpers/test-chain.ts'
import { consistencyOf, verifierKeyOf } from '../helpers/test-proof.ts'
import { refusesVerification } from './refuses-verification.ts'
import { pretend, RUNTIMES } from './runtimes.ts'

const chain = makeChain()
for (let i = 0; i < 3; i++) chain.notarize()
chain.rotateServerKey()
chain.notarize()
const bundle = rangeOf(chain, { from: 3, to: 7 })
const text = textOf(bundleTexts(bundle))

function textOf(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

for (const [name, runtime] of Object.entries(RUNTIMES)) {
  test(`a bundle verifies ${name}, and is refused if one bit is changed`, async (t) => {
    pretend(t, runtime)
    const found = await verify.bundle(text)
    assert.deepEqual([found.entries, found.completeness, found.notices], [5, 'complete', []])
    const changed = structuredClone(bundle)
    const envelope = Buffer.from(changed.lines[2]!['envelope'] as string, 'base64')
    envelope[envelope.length - 1]! ^= 1
    changed.lines[2]!['envelope'] = envelope.toString('base64')
    await refusesVerification('signature_invalid', () => verify.bundle(textOf(bundleTexts(changed))))
  })
}

test('a bundle may be text, bytes, a file or a stream, with or without its last newline', async () => {
  const bytes = new TextEncoder().encode(text)
  async function* inPieces() {
    for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7)
  }
  for (const source of [text, text.trimEnd(), bytes, new Blob([bytes]), inPieces])
    assert.equal((await verify.bundle(source)).entries, 5)
})

test('the report gives the trusted keys and checkpoints, and a notice for a selection', async () => {
  const [kid] = chain.signers.map(({ kidHex }) => kidHex)
  const given = await verify.bundle(text, {
    kids: [kid!.toUpperCase()],
    noteKey: verifierKeyOf(chain),
    checkpoints: [chain.checkpoint(8)],
  })
  assert.deepEqual(
    [given.keys, given.noteKey, given.checkpoint, given.covered],
    ['given', 'given', 'given', 8],
  )
  const joined = await verify.bundle(text, {
    checkpoints: [chain.checkpoint(4)],
    consistency: consistencyOf(chain, 4, 8),
  })
  assert.deepEqual([joined.checkpoint, joined.covered], ['own', 8])
  const alone = () => verify.bundle(text, { checkpoints: [chain.checkpoint(4)] })
  await refusesVerification('consistency_missing', alone, 0)
  await refusesVerification(
    'key_compromised',
    () => verify.bundle(text, { compromised: { [kid!]: null } }),
    0,
  )
  const line = chain.lines[7]!
  const selection = selectionOf(chain, { record: line.documents[0]!.subject }, [{ line }])
  const { notices } = await verify.bundle(textOf(bundleTexts(selection)))
  assert.match(notices.join(), /selection/)
  await assert.rejects(verify.bundle(text, { consistency: consistencyOf(chain, 4, 8) }), UsageError)
})

test('the refused entry is named, and input that is no bundle is refused', async () => {
  const lines = bundleTexts(bundle)
  await refusesVerification('seq_not_dense', () => verify.bundle(textOf(lines.toSpliced(3, 1))), 5)
  await refusesVerification('bundle_incomplete', () => verify.bundle(textOf(lines.slice(0, -1))))
  await refusesVerification('bundle_syntax', () => verify.bundle(textOf(chain.exportLines())))
  await refusesVerification('json_syntax', () => verify.bundle(''))
  await refusesVerification('bad_utf8', () => verify.bundle(Uint8Array.of(0xff, 0x0a, 0x7b)))
})

test('a first line may have the maximum length, not counting its newline', async () => {
  const [head, ...rest] = bundleTexts(bundle)
  const long = head! + ' '.repeat(END_LINE_BYTES_MAX - Buffer.byteLength(head!))
  assert.equal((await verify.bundle(textOf([long, ...rest]))).entries, 5)
  await refusesVerification('bundle_syntax', () => verify.bundle(textOf([`${long} `, ...rest])))
})
