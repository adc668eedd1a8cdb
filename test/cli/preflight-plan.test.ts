import assert from 'node:assert/strict'
import { test } from 'node:test'
import { API_CONNECTIONS, judgeConnections, planConnections } from '../../cli/preflight/judge-connections.ts'
import { judgeClock } from '../../cli/preflight/judge-measured.ts'
import { measureClock } from '../../src/db/connect/clock.ts'
import type { ConnectionFacts } from '../../src/db/schema/preflight.ts'
import { connect } from '../helpers/connect.ts'
import { sharedApp } from '../helpers/shared-app.ts'

const CONNECTIONS: ConnectionFacts = {
  max: 100,
  reserved: 3,
  inUse: 1,
  databaseMax: -1,
  databaseInUse: 1,
  ours: 0,
  names: { api: 'tallystick_api', worker: 'tallystick_worker' },
  logins: [
    { login: 'tallystick_api', max: -1, inUse: 1, isSuperuser: false },
    { login: 'tallystick_worker', max: -1, inUse: 0, isSuperuser: false },
  ],
}

test('plans connections for one worker and as many API processes as fit', async () => {
  const { deps } = await sharedApp()
  const pools = [deps.readPool, deps.searchPool, deps.writePool]
  assert.equal(
    pools.reduce((sum, { options }) => sum + options.max, 0),
    API_CONNECTIONS,
  )
  const fit = (change: Partial<ConnectionFacts>, own = 'tallystick_api') => {
    const facts = { ...CONNECTIONS, ...change }
    const plan = planConnections(facts, own)
    return [plan.apiProcesses, plan.workerFits, judgeConnections(facts, plan).status]
  }
  // Of 97 usable connections, the worker needs 16 and each API process needs 15. So 5 API processes fit.
  assert.deepEqual(fit({}), [5, true, 'ok'])
  assert.deepEqual(fit({ max: 49 }), [2, true, 'ok'])
  assert.deepEqual(fit({ max: 48 }), [1, true, 'warn'])
  assert.deepEqual(fit({ max: 33 }), [0, true, 'fail'])
  // Connections that our own running processes use count as available. Connections of other programs do not.
  assert.deepEqual(fit({ inUse: 60, databaseInUse: 60, ours: 59 }), [5, true, 'ok'])
  assert.deepEqual(fit({ inUse: 60 }), [1, true, 'warn'])
  assert.deepEqual(fit({ databaseMax: 15 }), [0, false, 'fail'])
  const logins = [{ login: 'tallystick_api', max: 30, inUse: 1, isSuperuser: false }]
  assert.deepEqual(fit({ logins }), [2, true, 'ok'])
})

test('judges a clock by its offset minus the measuring error', async (t) => {
  const app = await sharedApp()
  const client = await connect(t, app.database.apiUrl)
  for (const [offMs, status] of [
    [0, 'ok'],
    [2_000, 'warn'],
    [-2_000, 'warn'],
    [27_000, 'fail'],
    [-40_000, 'fail'],
  ] as const) {
    const offset = await measureClock(client, () => Date.now() - offMs, 20)
    assert.ok(Math.abs(offset.aheadMs - offMs) <= offset.errorMs, `${offMs}: ${JSON.stringify(offset)}`)
    assert.equal(judgeClock(offset).status, status)
  }
  assert.equal(judgeClock({ aheadMs: 1_400, errorMs: 500 }).status, 'ok')
})
