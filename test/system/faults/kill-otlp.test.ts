import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatLoad } from './kill.ts'
import { formatOtlpReckoning, hasHit, killOtlp } from './kill-otlp.ts'

test('spans and logs that exporters retry over kills of server and Postgres are recorded once', async () => {
  const outcome = await killOtlp(temporaryDir(), {
    exporters: 8,
    victims: ['api', 'postgres', 'api'],
    workMs: { min: 200, max: 600 },
  })
  console.log(`kill -9 under exporters: ${formatOtlpReckoning(outcome)}; ${formatLoad()}`)
  const { spans, logs, lost, doubled, ghosts } = outcome
  assert.ok(spans > 0 && logs > 0)
  assert.ok(hasHit(outcome), 'no kill hit a request: the test has shown nothing')
  assert.deepEqual({ lost, doubled, ghosts }, { lost: 0, doubled: 0, ghosts: 0 })
})
