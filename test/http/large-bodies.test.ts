import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJsonText } from '../../src/proof/json/json-text.ts'
import { genericBody } from '../helpers/app.ts'

/**
 * Maximum CPU time in ms for parsing one body. Normally a body takes 20 ms on a slow machine. Before a fix, a body took
 * 5 to 14 s after V8's optimizer had seen a few bodies.
 */
const CPU_MS_MAX = 2_000

test('parsing a body of 4 MiB does not get slower with repetition', () => {
  const records = Array.from({ length: 2_000 }, (_, i) => genericBody({ i, text: 'x'.repeat(2_000) }))
  const body = Buffer.from(JSON.stringify({ records }))
  for (let i = 0; i < 40; i++) {
    const before = process.cpuUsage()
    parseJsonText(body.toString('utf8'), { depthMax: 32 })
    const { user, system } = process.cpuUsage(before)
    assert.ok((user + system) / 1000 < CPU_MS_MAX, `number ${i} took ${(user + system) / 1000} ms`)
  }
})
