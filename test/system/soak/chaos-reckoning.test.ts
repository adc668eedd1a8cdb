import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChaosReckoning, findFaults } from './chaos-reckoning.ts'

const CLEAN: ChaosReckoning = {
  records: {
    acked: 9,
    found: 9,
    lost: 0,
    doubled: 0,
    ghosts: 0,
    torn: 0,
    unknown: 1,
    unknownFound: 1,
    refused: 3,
    replayed: 2,
  },
  gated: { completions: 4, doubled: 0, unverified: 0, unjudged: 0, deadLetters: 0, stuck: 0 },
  webhooks: {
    events: 8,
    received: 9,
    duplicates: 1,
    retried: 1,
    lost: 0,
    disordered: 0,
    unstable: 0,
    ghosts: 0,
    ghostLines: [],
  },
  federation: {
    shared: 5,
    lost: 0,
    doubled: 0,
    ghosts: 0,
    disordered: 0,
    offers: 2,
    openOffers: 0,
    unlike: 0,
    records: 2,
    deadLetters: 0,
    forks: 0,
    findings: [],
  },
  reconciled: ['home, guest: RECONCILED records=2 entries=5 offers=2 inFlight=0 keys=given'],
  unerased: 0,
  entries: 40,
  memory: {
    API: {
      minutes: 2,
      resident: { mean: 200, slope: 1, max: 260, percent: 40 },
      live: { first: 50, last: 56 },
    },
  },
  blind: [],
}

test('a clean run has no faults, and each broken promise is reported as one', () => {
  assert.deepEqual(findFaults(CLEAN), [])
  const broken: [Partial<ChaosReckoning>, string][] = [
    [{ records: { ...CLEAN.records, lost: 1 } }, 'records: lost=1'],
    [{ records: { ...CLEAN.records, torn: 2 } }, 'records: torn=2'],
    [{ records: { ...CLEAN.records, acked: 0 } }, 'acked=0: the run has shown nothing'],
    [{ gated: { ...CLEAN.gated, stuck: 1 } }, 'gated: stuck=1'],
    [{ gated: { ...CLEAN.gated, doubled: 1 } }, 'gated: doubled=1'],
    [{ webhooks: { ...CLEAN.webhooks, disordered: 1 } }, 'webhooks: disordered=1'],
    [{ federation: { ...CLEAN.federation, unlike: 1 } }, 'federation: unlike=1'],
    [{ reconciled: ['home, guest: MISMATCH'] }, 'home, guest: MISMATCH'],
    [{ unerased: 3 }, 'unerased=3'],
    [{ blind: ['a record that is gone'] }, 'controls that found nothing=1'],
  ]
  for (const [change, fault] of broken) assert.deepEqual(findFaults({ ...CLEAN, ...change }), [fault])
})

test('memory has a maximum size in any run, and a maximum growth in a long run', () => {
  const { API } = CLEAN.memory
  const faultsOf = (change: object) => findFaults({ ...CLEAN, memory: { API: { ...API!, ...change } } })
  assert.deepEqual(faultsOf({ minutes: 11, live: { first: 50, last: 75 } }), [
    'memory of API: 50 → 75 MiB live, 260 MiB at most',
  ])
  assert.deepEqual(faultsOf({ minutes: 11 }), [])
  // Without live memory, as for a Postgres, only resident memory is judged.
  assert.deepEqual(faultsOf({ minutes: 11, live: null }), ['memory of API: 40.0 % more, 260 MiB at most'])
  assert.deepEqual(faultsOf({ resident: { ...API!.resident, max: 2_000 } }), [
    'memory of API: 50 → 56 MiB live, 2000 MiB at most',
  ])
})
