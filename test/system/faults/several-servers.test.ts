import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatAttempts, formatLoad } from './kill.ts'
import { formatReckoning } from './reckoning.ts'
import { loadTwoServers } from './several-servers.ts'

for (const ledgers of [1, 20]) {
  const name = ledgers === 1 ? 'one ledger' : `${ledgers} ledgers at once`
  test(`two API processes on ${name}: no fork, no gap, no deadlock`, async () => {
    const plan = { ledgers, clients: Math.max(16, ledgers * 4), loadMs: 2_000 }
    const { reckoning, entries, attempts, deadlocks, recordsPerSecond } = await loadTwoServers(
      temporaryDir(),
      plan,
    )
    console.log(`two API processes, ${name}: ${formatReckoning(reckoning)}`)
    console.log(
      `  entries=${entries} verified; deadlocks=${deadlocks}; ${recordsPerSecond} records/s; ${formatLoad()}`,
    )
    assert.deepEqual(Object.keys(attempts), ['201'], formatAttempts(attempts))
    assert.equal(reckoning.found, reckoning.acked)
    const { lost, doubled, ghosts, torn, unknown } = reckoning
    assert.deepEqual(
      { lost, doubled, ghosts, torn, unknown, deadlocks },
      { lost: 0, doubled: 0, ghosts: 0, torn: 0, unknown: 0, deadlocks: 0 },
    )
  })
}
