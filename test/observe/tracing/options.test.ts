import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openTracing } from '../../../src/observe/tracing/open.ts'
import { parseConfig } from '../../../src/run/config.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { startCollector } from './collector.ts'

const NO_PEM = join(temporaryDir(), 'no.pem')
writeFileSync(NO_PEM, 'hunter2')
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318' }

test('tracing is off without an endpoint, and if it is disabled', () => {
  assert.equal(parseConfig({}).tracing, null)
  assert.equal(parseConfig({ OTEL_SERVICE_NAME: 'ledger', OTEL_TRACES_SAMPLER: 'mine' }).tracing, null)
  assert.equal(parseConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }).tracing, null)
  assert.equal(parseConfig({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }).tracing, null)
  assert.equal(parseConfig({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }).tracing, null)
  assert.notEqual(parseConfig({ ...ENDPOINT, OTEL_SDK_DISABLED: 'false' }).tracing, null)
})

test('adds /v1/traces to the general endpoint, and nothing to the traces endpoint', () => {
  const urlOf = (env: Record<string, string>) => parseConfig(env).tracing?.url
  assert.equal(urlOf(ENDPOINT), 'http://collector.example:4318/v1/traces')
  const under = 'https://collector.example/otlp'
  assert.equal(urlOf({ OTEL_EXPORTER_OTLP_ENDPOINT: `${under}/` }), `${under}/v1/traces`)
  assert.equal(urlOf({ ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: under }), under)
})

test('variables for traces take precedence over variables for all signals', () => {
  const { tracing } = parseConfig({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_TIMEOUT: '5000',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '250',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=2',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=3',
  })
  assert.equal(tracing?.timeoutMs, 250)
  assert.deepEqual(tracing?.headers, { a: '1', b: '3' })
})

test('certificates are read when the process starts', () => {
  const path = join(temporaryDir(), 'ca.pem')
  writeFileSync(path, 'a certificate')
  const { tracing } = parseConfig({ ...ENDPOINT, OTEL_EXPORTER_OTLP_CERTIFICATE: path })
  assert.equal(tracing?.tls.ca?.toString(), 'a certificate')
})

/**
 * Invalid values for each variable. These variables are often set for all programs of a cluster, so they may have
 * values that are not meant for us.
 */
const RUBBISH: Record<string, readonly string[]> = {
  ENDPOINT: ['collector.example:4317/hunter2', 'hunter2', 'grpc://hunter2', 'http://', '/hunter2'],
  PROTOCOL: ['grpc', 'http/json', 'hunter2'],
  HEADERS: ['authorization:hunter2', 'x=hunter2%0d%0a', 'x=%hunter2', '=hunter2', 'x y=hunter2'],
  TIMEOUT: ['hunter2', '0', '-1', '1.5', '1e3', '0x10', '99999999', 'Infinity', '10s'],
  COMPRESSION: ['zstd', 'brotli', 'hunter2'],
  CERTIFICATE: ['/nowhere/hunter2.pem', '/'],
  KEY: ['/nowhere/hunter2.pem', '/', NO_PEM],
  ATTRIBUTES: ['team=%hunter2', 'a=b,hunter2'],
  SAMPLER: ['jaeger_remote', 'parentbased_jaeger_remote', 'xray', 'hunter2'],
  ARG: ['hunter2', '1.5', '-1', 'endpoint=http://hunter2:14250,pollingIntervalMs=5000', 'NaN', '0x1'],
  EXPORTER: ['zipkin', 'otlp,console', 'console', 'none,otlp', 'hunter2'],
  DISABLED: ['1', 'yes', 'hunter2'],
}
/** Any text is a valid service name. */
const TAKES_ALL = 'OTEL_SERVICE_NAME'

const variables = new Set(
  readFileSync(new URL('../../../src/observe/tracing/options.ts', import.meta.url), 'utf8').match(
    /\bOTEL_[A-Z_]*[A-Z]\b/g,
  ),
)
variables.delete(TAKES_ALL)

for (const variable of variables) {
  test(`ignores a malformed or unknown ${variable}, and logs its name without its value`, async (t) => {
    for (const value of RUBBISH[variable.split('_').at(-1)!]!) {
      const collector = await startCollector(t)
      const environment = { ...collector.environment, [variable]: value }
      const { tracing: options, tracingIgnored } = parseConfig(environment)
      const names = tracingIgnored.map((each) => each.variable)
      assert.ok(
        names.some((name) => name === variable || name.includes('…')),
        `${value}: ${names}`,
      )
      assert.doesNotMatch(JSON.stringify(tracingIgnored), /hunter/)
      if (variable === 'OTEL_EXPORTER_OTLP_ENDPOINT') {
        assert.equal(options, null)
        continue
      }
      // The exporter's library reads the environment itself.
      const { env } = process
      process.env = { ...env, ...environment }
      t.after(() => (process.env = env))
      const tracing = await openTracing(options, 'tallystick-server', () => ({ sent() {}, lost() {} }))
      tracing!.start('something', { kind: 'internal', parent: null })?.end()
      await tracing!.close()
      process.env = env
      assert.equal(collector.spans.length, 1, value)
      assert.equal(collector.requests[0]!.path, '/v1/traces')
    }
  })
}

test('values are case-insensitive, and of a list of exporters otlp is used', () => {
  const { tracing, tracingIgnored } = parseConfig({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'HTTP/Protobuf',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'GZIP',
    OTEL_TRACES_SAMPLER: 'TraceIdRatio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_TRACES_EXPORTER: 'OTLP',
  })
  assert.deepEqual(tracingIgnored, [])
  assert.equal(tracing?.compression, 'gzip')
  assert.deepEqual(tracing.sampler, { name: 'traceidratio', ratio: 0.25 })
  assert.equal(parseConfig({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'None' }).tracing, null)
  assert.notEqual(parseConfig({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'console, otlp' }).tracing, null)
})

test('a malformed traces endpoint falls back to the general endpoint', () => {
  const { tracing } = parseConfig({ ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector:4317' })
  assert.equal(tracing?.url, 'http://collector.example:4318/v1/traces')
})

test('a malformed variable of Tallystick still throws next to ignored OTEL variables', () => {
  const env = { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', TALLYSTICK_PORT: '70000' }
  assert.throws(
    () => parseConfig(env),
    ({ message }: Error) => {
      assert.match(message, /TALLYSTICK_PORT/)
      assert.doesNotMatch(message, /OTEL/)
      return true
    },
  )
})
