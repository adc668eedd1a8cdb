import type { makeReport } from '../../../bench/k6/report.ts'
import type { K6Options, K6Run, RoundResult, Summary } from '../../../bench/k6/types.ts'

type Change = Partial<Pick<Summary, 'figures' | 'extras' | 'thresholds' | 'checks'>> & {
  readonly failed?: number
}

export function runOf(change: Change = {}): K6Run {
  const { failed = 0, ...changed } = change
  const seconds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  return {
    title: '',
    warnings: [],
    summary: {
      script: 'notarize-ramp',
      profile: 'short',
      seed: 1,
      durationMs: 10_000,
      ledgers: ['led_01m81p34v2e4vte1htqcc0190g'],
      figures: { ceiling: 50, rate: 25, p50: 4, p99: 20 },
      extras: { dropped: 0 },
      thresholds: [{ metric: 'failed', expression: 'rate==0', ok: true }],
      checks: [{ name: 'an answer says what was recorded', passes: 15, fails: 0 }],
      metrics: { http_reqs: { count: 250 }, failed: { rate: failed }, accepted: { 'p(50)': 4, 'p(99)': 20 } },
      ...changed,
    },
    points: seconds.map((second) => ({
      atMs: second * 1000,
      metrics: {
        accepted: { med: 4, 'p(99)': 20 },
        acknowledged_records: { count: 25, rate: 25 },
        http_reqs: { count: 25, rate: 25 },
      },
    })),
    samples: seconds.map((second) => ({
      atMs: second * 1000,
      cores: { API: 0.2, k6: 0.1, postgres: 0.1 },
      rssMiB: { API: 200, k6: 90 },
      server: { 'queue of records': 3, 'event loop p99 ms': 11 },
    })),
    cpu: { API: 0.2, k6: 0.1, postgres: 0.1, others: 0 },
    wallMs: 10_000,
    memory: { API: { mean: 200, slope: 0, max: 201, percent: 0 } },
  }
}

export function resultOf({ runs = [runOf()], faults = [] as string[] } = {}): RoundResult {
  return {
    round: { name: '', servers: 1 },
    runs,
    audit: {
      ledgers: 1,
      acknowledged: 250,
      unanswered: 0,
      found: 250,
      entries: 260,
      bytesPerRecord: 900,
      verified: 1,
      badVerdicts: [],
      ended: 0,
      deadLetters: 0,
      deliveries: null,
      faults,
      ok: faults.length === 0,
    },
  }
}

export function madeOf(
  results: readonly RoundResult[],
  options: K6Options,
): Parameters<typeof makeReport>[0] {
  const latency = { count: 300, mean: 1e5, p50: 1e5, p90: 2e5, p99: 3e5, p999: 4e5, max: 5e5 }
  return {
    script: 'notarize-ramp',
    options,
    startedAt: '2026-11-22T13:00:00.000Z',
    seconds: 15,
    commit: '0123456789ab',
    k6: 'k6 v2.2.0',
    postgres: '15.18',
    postgresSettings: { fsync: 'on' },
    preflight: {
      machine: {
        cpu: 'Some CPU',
        cores: 2,
        memoryGiB: 24,
        system: 'Linux',
        loadAverage: [0, 0, 0],
        clockResolutionNs: 50,
      },
      fsync: { directory: '/var/tmp', append: latency, overwrite: latency },
      commit: latency,
      flush: latency,
      unflushed: latency,
    },
    results,
    findings: {
      figures: results[0]!.runs[0]!.summary.figures,
      extras: results[0]!.runs[0]!.summary.extras,
    },
  }
}
