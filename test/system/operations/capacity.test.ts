import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  APPEND_BATCH_ENTRIES_MAX,
  APPEND_BATCH_RECORDS_MAX,
  APPEND_QUEUE_BYTES_MAX,
} from '../../../src/append/limits.ts'
import {
  JOB_CONNECTIONS_MAX,
  PEER_CONNECTIONS_MAX,
  READ_CONNECTIONS_MAX,
  SEARCH_CONNECTIONS_MAX,
  WEBHOOK_CONNECTIONS_MAX,
  WRITE_CONNECTIONS_MAX,
} from '../../../src/db/limits.ts'
import { ENTRY_FOLLOWER_TIME_SHARE_MAX } from '../../../src/followers/limits.ts'
import { STREAMS_MAX } from '../../../src/http/limits.ts'
import { TYPE_CACHE_BYTES_MAX } from '../../../src/ledgers/types/limits.ts'
import { REQUESTS_UNDER_WAY_MAX } from '../../../src/load/limits.ts'
import {
  WEBHOOK_DELIVERED_RETENTION_DAYS,
  WEBHOOK_DELIVERED_STORED_MAX,
  WEBHOOK_ENDPOINTS_MAX,
  WEBHOOK_REQUESTS_MAX,
} from '../../../src/outside/webhooks/limits.ts'
import { PROJECT_DIR } from '../deployment/installation.ts'

const PAGE = readFileSync(join(PROJECT_DIR, 'docs/operate/capacity.md'), 'utf8')
const MIB = 1024 * 1024
const SECONDS_A_DAY = 86_400

test('the capacity page states the limits of the code', () => {
  const server = WRITE_CONNECTIONS_MAX + READ_CONNECTIONS_MAX + SEARCH_CONNECTIONS_MAX
  const worker = READ_CONNECTIONS_MAX + WEBHOOK_CONNECTIONS_MAX + PEER_CONNECTIONS_MAX + JOB_CONNECTIONS_MAX
  assert.equal(ENTRY_FOLLOWER_TIME_SHARE_MAX, 1 / 4)
  for (const claim of [
    `${server} of each server (${WRITE_CONNECTIONS_MAX} to write, ${READ_CONNECTIONS_MAX} to read, ${SEARCH_CONNECTIONS_MAX} to search)`,
    `${worker} of each worker (${READ_CONNECTIONS_MAX}, ${WEBHOOK_CONNECTIONS_MAX} for webhooks, ${PEER_CONNECTIONS_MAX} for peers, ${JOB_CONNECTIONS_MAX} for jobs)`,
    `connections  = ${server} × servers + ${worker} × workers`,
    `up to ${APPEND_BATCH_ENTRIES_MAX} entries or ${text(APPEND_BATCH_RECORDS_MAX)} records`,
    `A server takes ${REQUESTS_UNDER_WAY_MAX} at a time`,
    `queue take at most ${APPEND_QUEUE_BYTES_MAX / MIB} MiB, and compiled types at most ${TYPE_CACHE_BYTES_MAX / MIB} MiB`,
    `each of ${STREAMS_MAX} streams`,
    `${text(WEBHOOK_REQUESTS_MAX)} requests and ${WEBHOOK_ENDPOINTS_MAX} endpoints at a time`,
    `stored for ${WEBHOOK_DELIVERED_RETENTION_DAYS} days, at most ${text(WEBHOOK_DELIVERED_STORED_MAX)} for each endpoint`,
  ])
    assert.ok(PAGE.replaceAll('\n', ' ').includes(claim), claim)
})

test('the examples on the page follow from its formulas and figures', () => {
  const [single, batched, gated] = [
    rowOf('… with an Idempotency-Key'),
    rowOf('in batches of 100'),
    rowOf('gated, agreed to accepted'),
  ]
  const cpu = {
    alone: cell('single records, each its own commit', 2),
    half: cell('single records, at half of that rate', 2),
  }
  const columns = [0, 1, 2]
  for (const column of columns) {
    const [ones, batches, gates, deliveries] = [
      'single records, a second',
      'records in batches, a second',
      'gated records, a second',
      'deliveries, a second',
    ].map((name) => rowOf(name)[column]!) as [number, number, number, number]
    const entries = ones + batches / 100 + gates * 5
    const servers = Math.ceil(ones / 2_400 + batches / 25_000 + gates / 250) + 1
    const workers = Math.ceil(Math.max(entries / 1_000, deliveries / 2_700, gates / 500))
    const sum = (figure: number) =>
      ones * single[figure]! + batches * batched[figure]! + gates * gated[figure]!
    const cores =
      (ones * (ones > 1_000 ? cpu.half : cpu.alone) + batches * 6 + gates * 1_241 + deliveries * 61) / 1e6
    const expected = {
      servers,
      'entries a second': entries,
      workers,
      connections: 15 * servers + 16 * workers,
      'GB a day': round((sum(0) * SECONDS_A_DAY) / 1e9),
      'MB of log a second': round(sum(1) / 1e6),
      'busy cores of Postgres': round(cores),
    }
    for (const [name, value] of Object.entries(expected)) assert.equal(rowOf(name)[column], value, name)
  }
})

test('the latency table follows from the measured figures', () => {
  const bases = [6.8, 20.0]
  for (const flush of [2, 4, 5]) {
    const cells = bases.map((base, i) => {
      const p50 = base + 3.5 * flush
      const rate = Math.round((64 * 4 ** i * 10) / p50) * 100
      return `${p50.toFixed(1)} ms, ${text(rate)}/s`
    })
    assert.ok(PAGE.includes(`| ${flush} ms | ${cells.join(' | ')} |`), cells.join(' | '))
  }
})

function rowOf(name: string): number[] {
  const rows = PAGE.split('\n').filter((line) => line.startsWith(`| ${name} |`))
  assert.equal(rows.length, 1, name)
  return rows[0]!
    .split('|')
    .slice(2, -1)
    .map((text) => Number(text.trim().replaceAll(',', '')))
}

function cell(name: string, column: number): number {
  return rowOf(name)[column - 1]!
}

function text(value: number): string {
  return value.toLocaleString('en')
}

function round(value: number): number {
  return Number(value.toFixed(1))
}
