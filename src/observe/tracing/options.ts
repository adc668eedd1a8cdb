import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { TRACE_EXPORT_TIMEOUT_MS_DEFAULT, TRACE_EXPORT_TIMEOUT_MS_MAX } from '../limits.ts'
import { type Pairs, parsePairs } from './pairs.ts'

export type TracingOptions = {
  /** Where spans are posted to. */
  readonly url: string
  readonly headers: Pairs
  readonly timeoutMs: number
  readonly compression: 'none' | 'gzip'
  /** PEM. */
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer }
  /** null: each process has its own. */
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

/** `key=value,key=value`, each percent-encoded. */
const pairs = z.string().transform((text, context) => orIssue(context, () => parsePairs(text)))

const headers = pairs.refine(
  (found) =>
    Object.entries(found).every(
      ([name, value]) => /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value),
    ),
  'must be headers: names are tokens, values printable ASCII',
)

const timeoutMs = z.coerce.number().int().min(1).max(TRACE_EXPORT_TIMEOUT_MS_MAX)
const RATIO = 'must be a ratio, from 0 to 1'
const ratio = z.coerce.number(RATIO).min(0, RATIO).max(1, RATIO)
const compression = z.enum(['none', 'gzip'])
const pemFile = z.string().transform((path, context) => orIssue(context, () => readFileSync(path)))

/** The collector speaks others, perhaps; this server does not. */
const protocol = z.literal('http/protobuf', 'must be http/protobuf: no other protocol is spoken')

/**
 * Endpoint of all signals, or of traces alone, which takes precedence (OpenTelemetry Protocol Exporter, "Endpoint URLs for
 * OTLP/HTTP").
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
  OTEL_TRACES_SAMPLER: z.enum(SAMPLERS).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: ratio.default(1),
})

const onOrOff = z.object({
  OTEL_SDK_DISABLED: z
    .string()
    .regex(/^(true|false)$/i, 'must be true or false')
    .default('false'),
  OTEL_TRACES_EXPORTER: z
    .enum(['otlp', 'none'], 'must be otlp or none: there is no other exporter')
    .default('otlp'),
})

type Environment = Readonly<Record<string, string | undefined>>
type Parsed =
  | { readonly options: TracingOptions | null; readonly issues: readonly [] }
  | { readonly options: null; readonly issues: readonly z.core.$ZodIssue[] }

/**
 * Parses the standard variables of OpenTelemetry; null: no traces. Otherwise every fault, without values. Without traces the
 * other variables are not looked at: they may be meant for others.
 */
export function parseTracing(env: Environment): Parsed {
  if (!env['OTEL_EXPORTER_OTLP_ENDPOINT'] && !env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) return OFF
  const wanted = onOrOff.safeParse(env)
  if (!wanted.success) return { options: null, issues: wanted.error.issues }
  const { OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER } = wanted.data
  if (OTEL_SDK_DISABLED.toLowerCase() === 'true' || OTEL_TRACES_EXPORTER === 'none') return OFF
  const parsed = environment.safeParse(env)
  if (!parsed.success) return { options: null, issues: parsed.error.issues }
  return { options: optionsOf(parsed.data), issues: [] }
}

const OFF: Parsed = { options: null, issues: [] }

type Values = z.infer<typeof environment>

function optionsOf(values: Values): TracingOptions {
  return {
    url: values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? tracesUrl(values.OTEL_EXPORTER_OTLP_ENDPOINT!),
    headers: { ...values.OTEL_EXPORTER_OTLP_HEADERS, ...values.OTEL_EXPORTER_OTLP_TRACES_HEADERS },
    timeoutMs: values.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? values.OTEL_EXPORTER_OTLP_TIMEOUT,
    compression: values.OTEL_EXPORTER_OTLP_TRACES_COMPRESSION ?? values.OTEL_EXPORTER_OTLP_COMPRESSION,
    tls: tlsOf(values),
    serviceName: values.OTEL_SERVICE_NAME ?? values.OTEL_RESOURCE_ATTRIBUTES['service.name'] ?? null,
    resource: values.OTEL_RESOURCE_ATTRIBUTES,
    sampler: { name: values.OTEL_TRACES_SAMPLER, ratio: values.OTEL_TRACES_SAMPLER_ARG },
  }
}

function tracesUrl(endpoint: string): string {
  const base = new URL(endpoint)
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

function orIssue<T>(context: z.RefinementCtx, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    context.addIssue((error as NodeJS.ErrnoException).code ?? (error as Error).message)
    return z.NEVER
  }
}
