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

test('verifies the entries of whole lines, of none as well', () => {
  const { steps, failure } = verifyLines(utf8Encode(text), verify)
  assert.deepEqual([steps.map(({ seq }) => seq), failure], [[0, 1, 2, 3, 4, 5], null])
  assert.deepEqual(verifyLines(new Uint8Array(), verify), { steps: [], failure: null })
})

test('gives those before the first that is refused, and why it is, also where it is no text', () => {
  const bytes = utf8Encode(text)
  const lines = text.split('\n')
  const inFifth = lines.slice(0, 4).join('\n').length + 20
  const wrong = verifyLines(bytes.with(inFifth, 0x7e), verify)
  assert.equal(wrong.steps.length, 4)
  const noText = verifyLines(bytes.with(inFifth, 0xff), verify)
  assert.deepEqual([noText.steps.length, noText.failure?.code], [4, 'bad_utf8'])
})

test('refuses what the caller refuses, and passes on what is no refusal', () => {
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
