import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { z } from 'zod'
import { TRACE_EXPORT_TIMEOUT_MS_DEFAULT, TRACE_EXPORT_TIMEOUT_MS_MAX } from '../limits.ts'
import { type Pairs, parsePairs } from './pairs.ts'

export type TracingOptions = {
  readonly url: string
  readonly headers: Pairs
  readonly timeoutMs: number
  readonly compression: 'none' | 'gzip'
  /** Certificates and private key, in PEM. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer }
  /** Name of the service. null if each process uses its own name. */
  readonly serviceName: string | null
  readonly resource: Pairs
  readonly sampler: { readonly name: SamplerName; readonly ratio: number }
}

export type SamplerName = (typeof SAMPLERS)[number]

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

const url = z.url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })

/** Schema of `key=value,key=value`. Each key and value is percent-encoded. */
const pairs = z.string().transform((text, context) => orIssue(context, () => parsePairs(text)))

const headers = pairs.refine(
  (found) =>
    Object.entries(found).every(
      ([name, value]) => /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value),
    ),
  'must be headers: names are tokens, values printable ASCII',
)

const TIMEOUT = `must be milliseconds, from 1 to ${TRACE_EXPORT_TIMEOUT_MS_MAX}`
const timeoutMs = z
  .string()
  .regex(/^\d{1,9}$/, TIMEOUT)
  .transform(Number)
  .pipe(z.number().min(1, TIMEOUT).max(TRACE_EXPORT_TIMEOUT_MS_MAX, TIMEOUT))
const RATIO = 'must be a ratio, from 0 to 1'
const ratio = z
  .string()
  .regex(/^[\d.]+(e-\d+)?$/i, RATIO)
  .transform(Number)
  .pipe(z.number(RATIO).min(0, RATIO).max(1, RATIO))
const pemFile = z.string().transform((path, context) => orIssue(context, () => readFileSync(path)))

/** Returns a schema for an enum. Case is ignored, as the specification requires. */
function choice<const T extends readonly string[]>(values: T) {
  return z
    .string()
    .toLowerCase()
    .pipe(z.enum(values, `must be ${values.join(', ')}`))
}

const compression = choice(['none', 'gzip'])
/** The collector may support other protocols, but this server supports only this one. */
const protocol = choice(['http/protobuf'])

/**
 * If the endpoint for traces and the endpoint for all signals are both set, the endpoint for traces is used
 * (OpenTelemetry Protocol Exporter, "Endpoint URLs for OTLP/HTTP").
 */
const environment = z.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headers.default({}),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers.default({}),
  OTEL_EXPORTER_OTLP_TIMEOUT: timeoutMs.default(TRACE_EXPORT_TIMEOUT_MS_DEFAULT),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: timeoutMs.optional(),
  OTEL_EXPORTER_OTLP_COMPRESSION: compression.default('none'),
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression.optional(),
  OTEL_EXPORTER_OTLP_CERTIFICATE: pemFile.optional(),
  OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: pemFile.optional(),
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: pemFile.optional(),
  OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: pemFile.optional(),
  OTEL_EXPORTER_OTLP_CLIENT_KEY: pemFile.optional(),
  OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: pemFile.optional(),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: pairs.default({}),
  OTEL_TRACES_SAMPLER: choice(SAMPLERS).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: ratio.default(1),
})

const switches = z.object({
  OTEL_SDK_DISABLED: choice(['true', 'false']).default('false'),
  OTEL_TRACES_EXPORTER: z
    .string()
    .transform((text) =>
      text
        .toLowerCase()
        .split(',')
        .map((name) => name.trim()),
    )
    .default(['otlp']),
})

type Environment = Readonly<Record<string, string | undefined>>

/** A variable that is ignored, and why. The value of the variable is left out, because it may be a secret. */
export type Ignored = { readonly variable: string; readonly why: string }
type Parsed = {
  /** Options of tracing. null if tracing is off. */
  readonly options: TracingOptions | null
  readonly ignored: readonly Ignored[]
}

/**
 * Parses OpenTelemetry's standard variables. They are often set for all programs of a cluster, so a malformed or
 * unknown value is ignored, as the specification requires ("Environment Variable Specification": enum, numeric,
 * boolean). If no endpoint is set, the other variables are not parsed. Never throws.
 */
export function parseTracing(env: Environment): Parsed {
  if (!env['OTEL_EXPORTER_OTLP_ENDPOINT'] && !env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) return OFF
  const wanted = parseKnown(switches, env)
  const { OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER: exporters } = wanted.values
  if (OTEL_SDK_DISABLED === 'true' || exporters.join() === 'none') return OFF
  const parsed = parseKnown(environment, env)
  const tls = parseTls(parsed.values)
  const ignored = [
    ...wanted.ignored,
    ...(exporters.join() === 'otlp'
      ? []
      : [{ variable: 'OTEL_TRACES_EXPORTER', why: 'must be otlp or none, the only exporters' }]),
    ...parsed.ignored,
    ...tls.ignored,
  ]
  const url = urlOf(parsed.values)
  return { options: url === null ? null : optionsOf(parsed.values, url, tls.options), ignored }
}

const OFF: Parsed = { options: null, ignored: [] }

/** Parses the environment. Leaves out variables that the schema refuses. */
function parseKnown<T extends z.ZodObject>(schema: T, env: Environment) {
  const why = new Map<string, string>()
  for (const { path, message } of schema.safeParse(env).error?.issues ?? [])
    if (!why.has(String(path[0]))) why.set(String(path[0]), message)
  const known = Object.fromEntries(Object.entries(env).filter(([name]) => !why.has(name)))
  return { values: schema.parse(known), ignored: [...why].map(([variable, why]) => ({ variable, why })) }
}

type Values = z.infer<typeof environment>

function optionsOf(values: Values, url: string, tls: TracingOptions['tls']): TracingOptions {
  return {
    url,
    headers: { ...values.OTEL_EXPORTER_OTLP_HEADERS, ...values.OTEL_EXPORTER_OTLP_TRACES_HEADERS },
    timeoutMs: values.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? values.OTEL_EXPORTER_OTLP_TIMEOUT,
    compression: values.OTEL_EXPORTER_OTLP_TRACES_COMPRESSION ?? values.OTEL_EXPORTER_OTLP_COMPRESSION,
    tls,
    serviceName: values.OTEL_SERVICE_NAME ?? values.OTEL_RESOURCE_ATTRIBUTES['service.name'] ?? null,
    resource: values.OTEL_RESOURCE_ATTRIBUTES,
    sampler: { name: values.OTEL_TRACES_SAMPLER, ratio: values.OTEL_TRACES_SAMPLER_ARG },
  }
}

function urlOf(values: Values): string | null {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ofTraces, OTEL_EXPORTER_OTLP_ENDPOINT: ofAll } = values
  if (ofTraces !== undefined || ofAll === undefined) return ofTraces ?? null
  const base = new URL(ofAll)
  base.pathname = `${base.pathname.replace(/\/$/, '')}/v1/traces`
  return base.href
}

function tlsOf(values: Values): TracingOptions['tls'] {
  const ca = values.OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE ?? values.OTEL_EXPORTER_OTLP_CERTIFICATE
  const cert =
    values.OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE ?? values.OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE
  const key = values.OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY ?? values.OTEL_EXPORTER_OTLP_CLIENT_KEY
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

/** Reads the certificates and the key. Checks that they fit together. Otherwise the first connection would throw. */
function parseTls(values: Values): { options: TracingOptions['tls']; ignored: readonly Ignored[] } {
  const options = tlsOf(values)
  try {
    createSecureContext(options)
    return { options, ignored: [] }
  } catch (error) {
    const variable = 'OTEL_EXPORTER_OTLP_…CERTIFICATE, …CLIENT_CERTIFICATE, …CLIENT_KEY'
    return { options: {}, ignored: [{ variable, why: (error as NodeJS.ErrnoException).code ?? 'no TLS' }] }
  }
}

function orIssue<T>(context: z.RefinementCtx, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    context.addIssue((error as NodeJS.ErrnoException).code ?? (error as Error).message)
    return z.NEVER
  }
}
