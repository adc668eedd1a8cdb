import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseConfig } from '../../../src/run/config.ts'
import { temporaryDir } from '../../helpers/postgres.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318' }

test('there are no traces without an endpoint, and none where they are turned off', () => {
  assert.equal(parseConfig({}).tracing, null)
  assert.equal(parseConfig({ OTEL_SERVICE_NAME: 'ledger', OTEL_TRACES_SAMPLER: 'mine' }).tracing, null)
  assert.equal(parseConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }).tracing, null)
  assert.equal(parseConfig({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }).tracing, null)
  assert.equal(parseConfig({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }).tracing, null)
  assert.notEqual(parseConfig({ ...ENDPOINT, OTEL_SDK_DISABLED: 'false' }).tracing, null)
})

test('of an endpoint of all signals the path of traces is added; of theirs nothing is', () => {
  const urlOf = (env: Record<string, string>) => parseConfig(env).tracing?.url
  assert.equal(urlOf(ENDPOINT), 'http://collector.example:4318/v1/traces')
  const under = 'https://collector.example/otlp'
  assert.equal(urlOf({ OTEL_EXPORTER_OTLP_ENDPOINT: `${under}/` }), `${under}/v1/traces`)
  assert.equal(urlOf({ ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: under }), under)
})

test('what stands for traces alone goes before what stands for all signals', () => {
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

test('what is malformed, or not spoken here, is refused by its name, and no value is shown', () => {
  const faulty = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector.example:4317/hunter2',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization:hunter2',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x=hunter2%0d%0a',
    OTEL_EXPORTER_OTLP_TIMEOUT: 'hunter2',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'brotli',
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/hunter2.pem',
    OTEL_RESOURCE_ATTRIBUTES: 'team=%hunter2',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '1.5',
  }
  assert.throws(
    () => parseConfig({ ...faulty, TALLYSTICK_PORT: '70000' }),
    ({ message }: Error) => {
      for (const name of [...Object.keys(faulty), 'TALLYSTICK_PORT'])
        assert.ok(message.includes(name), `${name} is not in ${message}`)
      assert.match(message, /OTEL_EXPORTER_OTLP_PROTOCOL: must be http\/protobuf/)
      assert.match(message, /OTEL_EXPORTER_OTLP_HEADERS: member 1 is not key=value/)
      assert.match(message, /OTEL_EXPORTER_OTLP_CERTIFICATE: ENOENT/)
      assert.doesNotMatch(message, /hunter/)
      return true
    },
  )
  for (const [name, value] of [
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_SDK_DISABLED', 'yes'],
  ]) {
    assert.throws(() => parseConfig({ ...ENDPOINT, [name!]: value }), new RegExp(`${name}: must be`))
  }
})
