import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runs } from '../../helpers/runs.ts'
import { fuzz, give, TARGETS } from './harness.ts'

const SEED = 22

for (const name of Object.keys(TARGETS)) {
  test(`changed ${name}: refused with an error code, or equal in meaning, within the time limit`, () => {
    const { codes } = fuzz(name, { seed: SEED, runs: runs(2_000) })
    assert.ok(codes.size > 0, 'nothing was refused')
  })
}

/** Inputs of the maximum length, made as expensive as possible. */
const COSTLY: Readonly<Record<string, readonly (string | Uint8Array)[]>> = {
  cbor: [
    new Uint8Array(32_768).fill(0x81),
    new Uint8Array(32_768).fill(0xa1),
    new Uint8Array(32_768).fill(0xd2),
    new Uint8Array(32_768).fill(0x9f),
    Uint8Array.of(0x9b, 0, 0, 0, 1, 0, 0, 0, 0),
    Uint8Array.of(0xbb, 0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
    Uint8Array.of(0x5b, 0, 0, 0, 1, 0, 0, 0, 0),
    // A map in which 16,000 members have the same name.
    new Uint8Array([0xb9, 0x3e, 0x80, ...Array(32_000).fill(0x01)]),
  ],
  json: ['['.repeat(1_000_000), `"${'\\u0061'.repeat(100_000)}"`, `{${'"a":1,'.repeat(100_000)}"a":1}`],
  'signed note': ['\u2014'.repeat(16_000), `${'\n'.repeat(16_000)}\u2014 a AAAA\n`],
  'tile address': [`0/${'x000/'.repeat(100_000)}000`],
  'verifier key': ['+'.repeat(1_000_000)],
  'receipt file': [new Uint8Array(40_960).fill(0x81)],
  proof: ['['.repeat(131_072), `{"ledger":${'{"a":'.repeat(10_000)}`],
  bundle: ['['.repeat(1_000_000), `{"bundle":1,"of":${'{"range":'.repeat(10_000)}`],
}

test('the largest and most expensive inputs are handled within the same time limit', () => {
  for (const [name, inputs] of Object.entries(COSTLY))
    for (const [i, input] of inputs.entries())
      give(name, input, TARGETS[name]!.genuine[0]!, `costly input ${i}`)
})
