import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatLoad } from './kill.ts'
import { formatAgentReckoning, killAgent } from './kill-agent.ts'

test('killing an agent with a spool, and a server, loses, doubles and reorders no record', async () => {
  const outcome = await killAgent(temporaryDir(), {
    victims: ['agent', 'api', 'agent'],
    workMs: { min: 150, max: 500 },
  })
  console.log(`kill -9 of agents and a server: ${formatAgentReckoning(outcome)}; ${formatLoad()}`)
  const { taken, lost, doubled, ghosts, disordered, filesLeft } = outcome
  assert.ok(taken > 0)
  assert.ok(Math.max(...filesLeft) > 0, 'no kill left anything behind: the test has shown nothing')
  assert.deepEqual({ lost, doubled, ghosts, disordered }, { lost: 0, doubled: 0, ghosts: 0, disordered: 0 })
})
