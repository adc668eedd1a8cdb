import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Tallystick } from '../../sdk/client.ts'
import { TallystickOperator } from '../../sdk/operator.ts'
import { StepFailed, smoke } from '../../src/run/smoke.ts'
import { type Deployment, startHere } from '../system/deployment/deployment.ts'

let deployment: Deployment
before(async () => {
  deployment = await startHere({}, { worker: false })
})
after(() => deployment.stop())

test('without a worker, smoke fails for the missing checkpoint with a hint, and still revokes its key', async () => {
  const { lines, failed } = await trySmoke({ checkpointMs: 500 })
  assert.ok(failed)
  assert.match(
    lines.at(-2)!,
    /^FAIL {2}a checkpoint covers entry 4, \d+ ms: none within 0\.5 s\n +→ check that a worker runs/,
  )
  assert.match(lines.at(-1)!, /^ok {4}the key is revoked/)
})

test('with a worker, smoke verifies its records, reuses its ledger, and leaves no valid key', async () => {
  await deployment.startWorker()
  try {
    const first = await trySmoke()
    assert.match(
      first.last,
      /^INTEGRITY_OK entries=\d+ records=2 keys=self-asserted checkpoint=given covered=(\d+) own=\1 of \1$/,
    )
    assert.deepEqual(
      first.lines.filter((line) => !line.startsWith('ok')),
      [],
    )
    const again = await trySmoke()
    assert.match(again.last, /^INTEGRITY_OK .*records=3 /)

    const { url, operatorKey } = deployment
    const operator = new TallystickOperator({ baseUrl: url, operatorKey })
    const [ledger, ...others] = await operator.ledgers.list().toArray(10)
    assert.deepEqual([ledger!.name, others], ['helm-test', []])
    const { key } = await operator.ledgers.issueKey(ledger!.id, { name: 'of this test' })
    const keys = await new Tallystick({ baseUrl: url, apiKey: key }).keys.list().toArray(10)
    assert.deepEqual(
      keys.filter(({ name }) => name === 'smoke').map(({ revokedAt }) => revokedAt !== null),
      [true, true, true],
    )
  } finally {
    await deployment.stopWorker()
  }
})

test('a wrong operator key and an unreachable server are each reported in one line with a hint', async () => {
  const wrong = await trySmoke({ operatorKey: `tlo_${'9'.repeat(32)}` })
  assert.ok(wrong.failed)
  assert.match(
    wrong.lines.at(-1)!,
    /^FAIL {2}the ledger helm-test is there, \d+ ms: 401 .*\n +→ check that TALLYSTICK_OPERATOR_KEY/,
  )
  const away = await trySmoke({ url: 'http://127.0.0.1:9' })
  assert.ok(away.failed)
  assert.equal(away.lines.length, 1)
  assert.match(
    away.lines[0]!,
    /^FAIL {2}the server is ready, \d+ ms: .*127\.0\.0\.1:9.*\n +→ check that servers run/,
  )
})

async function trySmoke(target: Partial<Parameters<typeof smoke>[0]> = {}) {
  const lines: string[] = []
  const { operatorKey } = deployment
  try {
    const last = await smoke({ url: deployment.url, operatorKey, ...target }, (line) => lines.push(line))
    return { lines, last, failed: false }
  } catch (error) {
    assert.ok(error instanceof StepFailed, String(error))
    return { lines, last: '', failed: true }
  }
}
