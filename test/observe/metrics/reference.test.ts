import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ERROR_CODES } from '../../../src/errors.ts'
import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import { serveMetrics } from '../../../src/run/listen-metrics.ts'
import { startServer } from '../../../src/run/server.ts'
import { startWorker } from '../../../src/run/worker.ts'
import { testConfig } from '../../helpers/app.ts'
import { makeCosigners } from '../../helpers/cosigners.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { until } from '../../helpers/wait.ts'
import { PROJECT_DIR } from '../../system/deployment/installation.ts'
import { type Exposed, parseExposition } from './exposition.ts'
import { readReferencePage } from './reference-page.ts'

/** All other metrics describe the process itself and get their names from the library. */
const isOurs = ({ name }: { name: string }) => name.startsWith('tallystick_')

/** The only names of labels that are allowed. Because of this list, no name of a label can come from a client. */
const LABELS = new Set(
  'cause code failure finding follower kind lookup major method minor outcome owner part patch pool queue reason result route source space state status stream version witness'.split(
    ' ',
  ),
)

/** Metrics without samples until something has happened. */
const ABSENT_AT_FIRST = new Set([
  'tallystick_audit_last_timestamp_seconds',
  'tallystick_http_request_duration_seconds',
])

test('the reference page matches the metrics of server, worker and npm start', async (t) => {
  const scraped = await scrapeAll(t)
  const documented = readReferencePage()

  for (const process of ['server', 'worker'] as const) {
    await t.test(`the ${process} has exactly the metrics that the page lists for it`, () => {
      const names = documented.filter(({ processes }) => processes.includes(process)).map(({ name }) => name)
      assert.deepEqual([...scraped[process].keys()].sort(), names.sort())
    })
  }
  await t.test('npm start has all metrics of the page', () => {
    assert.deepEqual([...scraped.both.keys()].sort(), documented.map(({ name }) => name).sort())
  })
  for (const { name, type, labels } of documented) {
    await t.test(`${name} has the documented type, labels and label values`, () => {
      const metric = scraped.both.get(name)!
      assert.equal(metric.type, type)
      for (const sample of metric.samples)
        assert.deepEqual(Object.keys(sample.labels).sort(), [...labels.keys()].sort())
      for (const [label, values] of labels) if (values) assertValues(metric, label, values)
    })
  }
  await t.test('follows the conventions of Prometheus', () => {
    for (const metric of scraped.both.values()) assertConventional(metric)
  })
  await t.test('counters start at 0 for each problem code', () => {
    const { samples } = scraped.server.get('tallystick_http_problems_total')!
    assert.deepEqual(samples.map(({ labels }) => labels['code']).sort(), Object.keys(ERROR_CODES).sort())
  })
})

test('no page names an unknown metric', () => {
  const known = new Set(readReferencePage().map(({ name }) => name))
  for (const file of globSync(['*.md', 'docs/**/*.md'], { cwd: PROJECT_DIR })) {
    const text = readFileSync(join(PROJECT_DIR, file), 'utf8')
    const queries = [...text.matchAll(/^```promql\n([\s\S]*?)^```/gm), ...text.matchAll(/`([^`\n]+)`/g)]
    for (const [, query] of queries) {
      for (const [name] of query!.matchAll(/(?<![\w/@])tallystick_[a-z_]+(?=[{[ `),]|$)/gm)) {
        if (ROLES.has(name)) continue
        const base = name.replace(/_(bucket|sum|count)$/, '')
        assert.ok(known.has(name) || known.has(base), `${file}: ${name}`)
      }
    }
  }
})

/** Names of database roles, which begin with the same prefix as metrics. */
const ROLES = new Set(['tallystick_owner', 'tallystick_api', 'tallystick_worker'])

function assertValues({ name, type, samples }: Exposed, label: string, values: readonly string[]): void {
  const found = [...new Set(samples.map(({ labels }) => labels[label]!))].sort()
  const isWhole = type !== 'histogram' && !ABSENT_AT_FIRST.has(name)
  if (isWhole) assert.deepEqual(found, [...values].sort())
  else for (const value of found) assert.ok(values.includes(value), `${name}: ${label}=${value}`)
}

/** Conventions: https://prometheus.io/docs/practices/naming/ */
function assertConventional(metric: Exposed): void {
  const { name, type, help, samples } = metric
  assert.match(name, /^(tallystick|process|nodejs)(_[a-z0-9]+)+$/)
  assert.ok(['counter', 'gauge', 'histogram'].includes(type), `${name} is a ${type}`)
  assert.equal(name.endsWith('_total'), type === 'counter', `${name} is a ${type}`)
  assert.doesNotMatch(
    name,
    /_(ms|milliseconds|microseconds|minutes|hours|days|kb|mb|kib|mib|percent|ratio_percent)(_|$)/,
  )
  assert.doesNotMatch(name, /_(bucket|sum|count|le)$/)
  if (type === 'histogram') assert.match(name, /_(seconds|bytes|entries)$/)
  if (name.endsWith('_info')) for (const { value } of samples) assert.equal(value, 1)
  if (isOurs(metric)) {
    assert.match(help, /^[A-Z].*[^.\s]$/, name)
    // A negative counter would make rate() wrong.
    if (type === 'counter') for (const { value } of samples) assert.ok(value >= 0, name)
  }
  for (const { labels } of samples) {
    for (const [label, value] of Object.entries(labels)) {
      assert.ok(LABELS.has(label), `${name} has a label ${label}`)
      assert.doesNotMatch(value, /[a-z]{3}_[0-9a-z]{26}/, name)
    }
  }
  assert.ok(samples.length < 400, `${name} has ${samples.length} samples`)
}

/** Scrapes processes with traces, a replica, a witness and an archive, so that their metrics exist too. */
async function scrapeAll(t: TestContext) {
  const { apiUrl, workerUrl } = await createTestDatabase(t)
  const { vkeys } = makeCosigners(1)
  const config = {
    ...testConfig(apiUrl, {
      TALLYSTICK_REPLICA_URL: apiUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      TALLYSTICK_WITNESSES: `${vkeys[0]} https://w0.example`,
      TALLYSTICK_ARCHIVE: `file://${temporaryDir()}`,
      TALLYSTICK_ARCHIVE_KEEP_DAYS: '0',
    }),
    workerUrl,
    dataDir: temporaryDir(),
  }
  const scrape = async (parts: readonly ('server' | 'worker')[]) => {
    const metrics = new Metrics()
    const listener = await serveMetrics(metrics, { host: '127.0.0.1', port: 0 })
    t.after(() => listener.close())
    if (parts.includes('worker')) await closed(t, startWorker(config, metrics))
    if (parts.includes('server')) {
      const { url } = await closed(t, startServer(config, undefined, metrics))
      await fetch(`${url}/livez`)
    }
    const read = async () => parseExposition(await (await fetch(listener.url)).text())
    await until(async () => !parts.includes('worker') || hasRounds(await read()))
    return read()
  }
  return {
    server: await scrape(['server']),
    worker: await scrape(['worker']),
    both: await scrape(['worker', 'server']),
  }
}

function hasRounds(metrics: ReadonlyMap<string, Exposed>): boolean {
  const rounds = metrics.get('tallystick_follower_rounds_total')!.samples
  const ended = metrics.get('tallystick_follower_last_success_timestamp_seconds')!.samples
  return ended.length === rounds.length / 2
}

async function closed<S extends { close(): Promise<void> }>(
  t: TestContext,
  starting: Promise<S>,
): Promise<S> {
  const service = await starting
  t.after(() => service.close())
  return service
}
