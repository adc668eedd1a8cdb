import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { DRAIN_SECONDS_DEFAULT, DRAIN_SECONDS_MAX } from './limits.ts'
import { type Allowances, parseAllowances } from './outbound/allowances.ts'
import { parseTracing, type TracingOptions } from './tracing/options.ts'

const port = z.coerce.number().int().min(0).max(65_535)
const url = z.url({ protocol: /^https?$/ })
const postgresUrl = z.url({ protocol: /^postgres(ql)?$/ })

const DRAIN_SECONDS = `must be seconds, from 0 to ${DRAIN_SECONDS_MAX}`
const drainSeconds = z.coerce
  .number(DRAIN_SECONDS)
  .min(0, DRAIN_SECONDS)
  .max(DRAIN_SECONDS_MAX, DRAIN_SECONDS)

/** 32 bytes, as 64 hex digits or as base64. */
const masterKey = z
  .string()
  .transform((text) => Buffer.from(text, /^[0-9a-fA-F]{64}$/.test(text) ? 'hex' : 'base64'))
  .refine((key) => key.length === 32, 'must be 32 bytes, as 64 hex digits or as base64')

const allowances = z
  .string()
  .default('')
  .transform((text, context) => {
    try {
      return parseAllowances(text)
    } catch (error) {
      context.addIssue((error as Error).message)
      return z.NEVER
    }
  })

/** The one documented schema of the environment (docs/configuration.md). */
const environment = z.object({
  TALLYSTICK_HOST: z.string().min(1).default('127.0.0.1'),
  TALLYSTICK_PORT: port.default(3000),
  TALLYSTICK_METRICS_PORT: port.optional(),
  /** From SIGTERM on a server answers for so long before it stops listening. */
  TALLYSTICK_DRAIN_SECONDS: drainSeconds.default(DRAIN_SECONDS_DEFAULT),
  /** Where this installation keeps what is not in Postgres. */
  TALLYSTICK_DATA: z.string().min(1).default('.tallystick'),
  /** How the outside names this server; fixed in each ledger's origin and issuer when it is made. */
  TALLYSTICK_PUBLIC_URL: url.optional(),
  /** The owner's: for `migrate`, and for `npm start`. */
  DATABASE_URL: postgresUrl.optional(),
  TALLYSTICK_API_DATABASE_URL: postgresUrl.optional(),
  TALLYSTICK_WORKER_DATABASE_URL: postgresUrl.optional(),
  TALLYSTICK_MASTER_KEY: masterKey.optional(),
  TALLYSTICK_OPERATOR_KEY: z
    .string()
    .regex(/^tlo_[0-9A-Za-z]{32,}$/, 'must be tlo_ and at least 32 letters and digits')
    .optional(),
  /** Addresses of inner networks that webhooks may be delivered to. */
  TALLYSTICK_OUTBOUND_ALLOW: allowances,
  /** One line for each request that is answered. */
  TALLYSTICK_LOG_REQUESTS: z
    .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })
    .default(false),
  TALLYSTICK_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
})

export type Config = {
  readonly host: string
  readonly port: number
  readonly metricsPort: number | null
  readonly drainMs: number
  readonly dataDir: string
  readonly publicUrl: string
  readonly ownerUrl: string | null
  readonly apiUrl: string | null
  readonly workerUrl: string | null
  readonly masterKey: Uint8Array | null
  readonly operatorKey: string | null
  readonly outboundAllow: Allowances
  /** null: no traces. */
  readonly tracing: TracingOptions | null
  readonly logLevel: string
  readonly logRequests: boolean
}

/**
 * Throws with every fault of the environment, by variable, and never with a value that is secret. A variable that is
 * empty counts as not set: that is how many tools hand on one that has no value.
 */
export function parseConfig(env: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = environment.safeParse(given)
  const tracing = parseTracing(given)
  if (!parsed.success || tracing.issues.length > 0) {
    const issues = [...(parsed.error?.issues ?? []), ...tracing.issues]
    const faults = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw new Error(`the configuration is not valid:\n  ${faults.join('\n  ')}`)
  }
  const values = parsed.data
  return {
    host: values.TALLYSTICK_HOST,
    port: values.TALLYSTICK_PORT,
    metricsPort: values.TALLYSTICK_METRICS_PORT ?? null,
    drainMs: values.TALLYSTICK_DRAIN_SECONDS * 1_000,
    dataDir: resolve(values.TALLYSTICK_DATA),
    publicUrl: (values.TALLYSTICK_PUBLIC_URL ?? `http://localhost:${values.TALLYSTICK_PORT}`).replace(
      /\/+$/,
      '',
    ),
    ownerUrl: values.DATABASE_URL ?? null,
    apiUrl: values.TALLYSTICK_API_DATABASE_URL ?? null,
    workerUrl: values.TALLYSTICK_WORKER_DATABASE_URL ?? null,
    masterKey: values.TALLYSTICK_MASTER_KEY ?? null,
    operatorKey: values.TALLYSTICK_OPERATOR_KEY ?? null,
    outboundAllow: values.TALLYSTICK_OUTBOUND_ALLOW,
    tracing: tracing.options,
    logLevel: values.TALLYSTICK_LOG_LEVEL,
    logRequests: values.TALLYSTICK_LOG_REQUESTS,
  }
}

/** The value, or an error that names the variable to set. */
export function required<T>(value: T | null, variable: string, purpose: string): T {
  if (value === null) throw new Error(`${variable} is not set: ${purpose}`)
  return value
}

/** The version that `/livez` and logs name. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version
