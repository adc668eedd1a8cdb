import assert from 'node:assert/strict'
import { test } from 'node:test'
import { utf8Encode } from '../../../src/proof/bytes.ts'
import type { EntryLine } from '../../../src/proof/entry/entry-line.ts'
import { verifyEntry } from '../../../src/proof/entry/verify-entry.ts'
import { verifyLines } from '../../../src/proof/entry/verify-lines.ts'
import { ProofError } from '../../../src/proof/error.ts'
import { makeFindKey } from '../../../src/proof/offline/key-hints.ts'
import { makeChain, providers } from '../../helpers/test-chain.ts'

const chain = makeChain()
for (let i = 0; i < 3; i++) chain.notarize()
const findKey = makeFindKey(chain.keys(), providers)
const verify = (line: EntryLine) => verifyEntry(line, findKey, providers).step
const text = chain.lines.map((line) => `${JSON.stringify(line)}\n`).join('')

test('verifies the entries of complete lines, and of empty input', () => {
  const { steps, failure } = verifyLines(utf8Encode(text), verify)
  assert.deepEqual([steps.map(({ seq }) => seq), failure], [[0, 1, 2, 3, 4, 5], null])
  assert.deepEqual(verifyLines(new Uint8Array(), verify), { steps: [], failure: null })
})

test('returns the entries before the first refused line, and its code, for invalid UTF-8 too', () => {
  const bytes = utf8Encode(text)
  const lines = text.split('\n')
  const inFifth = lines.slice(0, 4).join('\n').length + 20
  const wrong = verifyLines(bytes.with(inFifth, 0x7e), verify)
  assert.equal(wrong.steps.length, 4)
  const noText = verifyLines(bytes.with(inFifth, 0xff), verify)
  assert.deepEqual([noText.steps.length, noText.failure?.code], [4, 'bad_utf8'])
})

test('treats a ProofError of the callback as a refusal, and rethrows other errors', () => {
  const { steps, failure } = verifyLines(utf8Encode(text), (line, index) => {
    if (index === 2) throw new ProofError('columns_contradict_entries', 'third')
    return verify(line)
  })
  assert.deepEqual([steps.length, failure?.code], [2, 'columns_contradict_entries'])
  const fault = () => {
    throw new TypeError('a fault')
  }
  assert.throws(() => verifyLines(utf8Encode(text), fault), TypeError)
})
