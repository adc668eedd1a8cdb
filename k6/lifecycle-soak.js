/*
 * Eight clients each run one gated record after another, from creation to verdict, for five minutes. CLIENTS sets
 * another number of clients. The goal is a run without faults: no error, no record given up, no restart, no dead
 * letter, and constant memory. The runner checks the last three.
 *
 * One more client shares its records with a second organisation, whose agent does the work. These records do not count
 * in the figures but must be free of faults too. The runner compares both chains.
 */
import exec from 'k6/execution'
import { Counter } from 'k6/metrics'
import { makeLedger } from './lib/deployment.js'
import { makePeering, peeredOf } from './lib/guest.js'
import { makeParties, runLifecycle, STEPS } from './lib/lifecycle.js'
import { makeOptions, profileOf } from './lib/profile.js'
import { runSharedLifecycle } from './lib/shared-lifecycle.js'
import { makeSummary, measured } from './lib/summary.js'

const seconds = Number(__ENV.SECONDS ?? profileOf('lifecycle-soak').seconds)
const CLIENTS_DEFAULT = 8
/**
 * Number of records that were complete within the duration. Records that are complete later do not count in the rate.
 */
const inTime = new Counter('lifecycles_in_time')
const clients = Number(__ENV.CLIENTS ?? CLIENTS_DEFAULT)

export const options = makeOptions({
  scenarios: {
    // Records in progress at the end are completed. A verification takes at most a minute.
    soak: { executor: 'constant-vus', vus: clients, duration: `${seconds}s`, gracefulStop: '90s' },
    shared: { executor: 'constant-vus', exec: 'share', vus: 1, duration: `${seconds}s`, gracefulStop: '90s' },
  },
  thresholds: {
    http_reqs: ['count>0'],
    lifecycles_complete: ['count>0'],
    lifecycles_abandoned: ['count==0'],
    shared_complete: ['count>0'],
    shared_abandoned: ['count==0'],
    unanswered_records: ['count==0'],
  },
})

export function setup() {
  const ledger = makeLedger('lifecycle-soak')
  return { ledger: ledger.id, parties: makeParties(ledger), peering: makePeering('lifecycle-soak-shared') }
}

/** @param {ReturnType<typeof setup>} data */
export default function ({ parties }) {
  const isComplete = runLifecycle(parties, __ITER)
  if (isComplete && Date.now() <= exec.scenario.startTime + seconds * 1000) inTime.add(1)
}

/** @param {ReturnType<typeof setup>} data */
export function share({ peering }) {
  runSharedLifecycle(peering, __ITER)
}

export const handleSummary = makeSummary('lifecycle-soak', (data) => {
  const rate = (measured(data, 'lifecycles_in_time', 'count') ?? 0) / seconds
  const steps = STEPS.map((step) => [
    step,
    { p50: measured(data, `step_${step}`, 'p(50)'), p99: measured(data, `step_${step}`, 'p(99)') },
  ])
  return {
    figures: {
      records: measured(data, 'lifecycles_complete', 'count') ?? 0,
      // Only `rateOfMany` has a goal. Eight clients that wait for the worker cannot reach this goal.
      [clients === CLIENTS_DEFAULT ? 'rate' : 'rateOfMany']: rate,
      // `passes` of a Rate counts the requests for which `failed` was true.
      errors: measured(data, 'failed', 'passes'),
      p50: measured(data, 'lifecycle', 'p(50)'),
      p99: measured(data, 'lifecycle', 'p(99)'),
      verified: measured(data, 'lifecycle_verified', 'p(50)'),
    },
    extras: {
      clients,
      looks: measured(data, 'lifecycle_looks', 'avg'),
      retried: measured(data, 'retried', 'count') ?? 0,
      ledger: /** @type {ReturnType<typeof setup> | undefined} */ (data.setup_data)?.ledger,
      peered: peeredOf(/** @type {ReturnType<typeof setup> | undefined} */ (data.setup_data)?.peering),
      shared: {
        complete: measured(data, 'shared_complete', 'count') ?? 0,
        p50: measured(data, 'shared_lifecycle', 'p(50)'),
        p99: measured(data, 'shared_lifecycle', 'p(99)'),
      },
      stepsMs: Object.fromEntries(steps),
    },
  }
})
