import { test } from 'node:test'
import { temporaryDir } from '../../helpers/postgres.ts'
import { formatLoad } from '../faults/kill.ts'
import {
  formatLifecycle,
  type LifecyclePlan,
  liveFederation,
  requireReconciled,
} from './federation-lifecycle.ts'

test('three ledgers that share records reconcile offline, pair by pair', async () => {
  const plan: LifecyclePlan = { organisations: 3, clients: 1, records: 30 }
  const outcome = await liveFederation(temporaryDir(), plan)
  console.log(`federation-lifecycle: ${formatLifecycle(outcome)}; ${formatLoad()}`)
  requireReconciled(outcome, plan)
})
