import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatFederation, sufferFederation } from './federation-faults.ts'
import { formatFederationReckoning } from './federation-reckoning.ts'
import { formatLoad } from './kill.ts'

test('ledgers that share records end up equal, despite a broken network and killed processes', async () => {
  const outcome = await sufferFederation(temporaryDir(), {
    seed: 1,
    organisations: 3,
    clients: 2,
    kills: 3,
    rotations: 1,
    loadMs: { min: 1_500, max: 3_000 },
    faults: { share: 0.3, msMax: 500 },
    hurry: true,
  })
  console.log(`federation: ${formatFederation(outcome)}; ${formatLoad()}`)
  console.log(`  ${formatFederationReckoning(outcome.reckoning)}`)
  const { shared, offers, records, findings, ...bad } = outcome.reckoning
  assert.ok(shared > 0 && offers > 0 && records > 0)
  assert.deepEqual(findings, [])
  for (const [name, count] of Object.entries(bad)) assert.equal(count, 0, name)
  assert.ok(outcome.met.pass < Object.values(outcome.met).reduce((a, b) => a + b), 'nothing broke')
})
