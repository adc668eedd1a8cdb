import { resolve } from 'node:path'
import { z } from 'zod'
import type { DatabaseOptions } from '../db/connect/connection.ts'
import { parseDatabaseOptions } from '../db/connect/options.ts'
import { REPLICA_LAG_MS_DEFAULT, REPLICA_LAG_MS_MAX, REPLICA_LAG_MS_MIN } from '../db/limits.ts'
import {
  ARCHIVE_LOCK_DAYS_MAX,
  ARCHIVE_RETENTION_DAYS_MAX,
  ARCHIVE_SEAL_ENTRIES_DEFAULT,
  ARCHIVE_SEAL_ENTRIES_MAX,
  ARCHIVE_SEAL_SECONDS_DEFAULT,
  ARCHIVE_SEAL_SECONDS_MAX,
} from '../followers/limits.ts'
import { parseWitnesses, type WitnessSetting } from '../followers/witnesses/settings.ts'
import { THREADS_MAX } from '../load/limits.ts'
import { writeLine } from '../observe/standard-output.ts'
import { type Ignored, parseTracing, type TracingOptions } from '../observe/tracing/options.ts'
import { type Allowances, parseAllowances } from '../outside/connector/allowances.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { RETENTION_DAYS_MAX, TEXT_BYTES_MAX } from '../proof/limits.ts'
import { isHttpUrl, isOrigin, isPlainText } from '../proof/names.ts'
import { type ServerVariable, warnOfUnknown } from '../variables.ts'
import { type ArchiveLocation, parseArchiveLocation, type S3Settings } from '../verify/archive/settings.ts'
import { readKeyFiles } from './key-files.ts'
import {
  DRAIN_SECONDS_DEFAULT,
  DRAIN_SECONDS_MAX,
  RETENTION_DAYS_MIN_DEFAULT,
  SCHEMA_WAIT_SECONDS_MAX,
} from './limits.ts'

/** An example of a ledger id. The checks of the public URL build texts with this id. */
const ANY_LEDGER = formatId('led', '00000000-0000-7000-8000-000000000000' as Uuid)

const PORT = 'must be a port, from 0 to 65535; 0 chooses a free one'
const port = z.coerce.number(PORT).int(PORT).min(0, PORT).max(65_535, PORT)
const url = z.url({ protocol: /^https?$/ })
/**
 * The chain contains this URL: as issuer, in the origin of each new ledger, and in signatures of peers about each
 * other. A verifier that refuses one of these texts refuses the whole ledger. So the URL is checked before it is used.
 */
const publicUrl = url.refine(
  (text) =>
    isHttpUrl(text) && isPlainText(text) && isOrigin(`${new URL(text).host}/${ANY_LEDGER}`, ANY_LEDGER),
  `must be a URL of printable ASCII characters, at most ${TEXT_BYTES_MAX}, whose host has no +`,
)
const postgresUrl = z.url({ protocol: /^postgres(ql)?$/ })

const DRAIN_SECONDS = `must be seconds, from 0 to ${DRAIN_SECONDS_MAX}`
const drainSeconds = z.coerce
  .number(DRAIN_SECONDS)
  .min(0, DRAIN_SECONDS)
  .max(DRAIN_SECONDS_MAX, DRAIN_SECONDS)

const SCHEMA_WAIT_SECONDS = `must be seconds, from 0 to ${SCHEMA_WAIT_SECONDS_MAX}`
const schemaWaitSeconds = z.coerce
  .number(SCHEMA_WAIT_SECONDS)
  .min(0, SCHEMA_WAIT_SECONDS)
  .max(SCHEMA_WAIT_SECONDS_MAX, SCHEMA_WAIT_SECONDS)

const REPLICA_LAG_MS = `must be milliseconds, from ${REPLICA_LAG_MS_MIN} to ${REPLICA_LAG_MS_MAX}`
const replicaLagMs = z.coerce
  .number(REPLICA_LAG_MS)
  .int(REPLICA_LAG_MS)
  .min(REPLICA_LAG_MS_MIN, REPLICA_LAG_MS)
  .max(REPLICA_LAG_MS_MAX, REPLICA_LAG_MS)

const THREADS = `must be a number of threads, from 1 to ${THREADS_MAX}`
const threads = z.coerce.number(THREADS).int(THREADS).min(1, THREADS).max(THREADS_MAX, THREADS)

const RETENTION_DAYS = `must be days, from 1 to ${RETENTION_DAYS_MAX}`
const retentionDays = z.coerce
  .number(RETENTION_DAYS)
  .int(RETENTION_DAYS)
  .min(1, RETENTION_DAYS)
  .max(RETENTION_DAYS_MAX, RETENTION_DAYS)

/** Master key of 32 bytes, as 64 hex digits or as base64. */
const masterKey = z
  .string()
  .transform((text) => Buffer.from(text, /^[0-9a-fA-F]{64}$/.test(text) ? 'hex' : 'base64'))
  .refine((key) => key.length === 32, 'must be 32 bytes, as 64 hex digits or as base64')

const flag = z.stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })

const numberUpTo = (unit: string, min: number, max: number) => {
  const message = `must be ${unit}, from ${min} to ${max}`
  return z.coerce.number(message).int(message).min(min, message).max(max, message)
}

const operatorKey = z
  .string()
  .regex(/^tlo_[0-9A-Za-z]{32,}$/, 'must be tlo_ and at least 32 letters and digits')

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

/** Schema of the environment (docs/operate/settings.md). */
const environment = z.object({
  TALLYSTICK_HOST: z.string().min(1).default('127.0.0.1'),
  TALLYSTICK_PORT: port.default(3000),
  TALLYSTICK_METRICS_PORT: port.optional(),
  /** Time from SIGTERM until the server stops listening. */
  TALLYSTICK_DRAIN_SECONDS: drainSeconds.default(DRAIN_SECONDS_DEFAULT),
  /** Number of threads for CPU-heavy work. Default: number of CPU cores + 1. */
  TALLYSTICK_THREADS: threads.optional(),
  /** Folder for data outside Postgres. */
  TALLYSTICK_DATA: z.string().min(1).default('.tallystick'),
  /** URL of this server for clients. Each new ledger contains this URL permanently, as issuer and in the origin. */
  TALLYSTICK_PUBLIC_URL: publicUrl.optional(),
  TALLYSTICK_URL: url.optional(),
  /** The owner's login, for `migrate` and `npm start`. */
  DATABASE_URL: postgresUrl.optional(),
  /** The owner's login to the target database of `move-ledger`. */
  TALLYSTICK_TARGET_DATABASE_URL: postgresUrl.optional(),
  TALLYSTICK_API_DATABASE_URL: postgresUrl.optional(),
  TALLYSTICK_WORKER_DATABASE_URL: postgresUrl.optional(),
  /** URL of a standby, with the API's login. Reads go to this standby (docs/operate/postgres.md#replicas). */
  TALLYSTICK_REPLICA_URL: postgresUrl.optional(),
  TALLYSTICK_REPLICA_LAG_MS_MAX: replicaLagMs.default(REPLICA_LAG_MS_DEFAULT),
  /** Maximum time that server and worker wait for `migrate`. */
  TALLYSTICK_SCHEMA_WAIT_SECONDS: schemaWaitSeconds.default(0),
  /** Password files of the two restricted logins, for URLs without a password. `migrate` reads these files. */
  TALLYSTICK_API_DATABASE_PASSWORD_FILE: z.string().optional(),
  TALLYSTICK_WORKER_DATABASE_PASSWORD_FILE: z.string().optional(),
  TALLYSTICK_DATABASE_LOGINS: z.literal('rds-iam', 'must be rds-iam, or not set').optional(),
  // Each of these four keys (master and operator key, current and previous) may be in a file instead. <name>_FILE is
  // then the path of the file (src/run/key-files.ts). The other TALLYSTICK_DATABASE_… variables are parsed by
  // src/db/connect/options.ts, which the command line uses too.
  TALLYSTICK_MASTER_KEY: masterKey.optional(),
  TALLYSTICK_MASTER_KEY_PREVIOUS: masterKey.optional(),
  TALLYSTICK_OPERATOR_KEY: operatorKey.optional(),
  TALLYSTICK_OPERATOR_KEY_PREVIOUS: operatorKey.optional(),
  /** Private addresses that webhooks may be delivered to. */
  TALLYSTICK_OUTBOUND_ALLOW: allowances,
  /**
   * Witnesses that cosign each checkpoint. readWitnesses parses the text, because parsing depends on
   * TALLYSTICK_OUTBOUND_ALLOW.
   */
  TALLYSTICK_WITNESSES: z.string().default(''),
  TALLYSTICK_PEER_WITNESSES: z
    .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })
    .default(true),
  /** Whether the server serves the console at /console (docs/guides/console.md). */
  TALLYSTICK_CONSOLE: z.stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' }).default(true),
  /**
   * Minimum number of days that a retention rule may have. Default: six months, as Articles 19 and 26 of the EU AI Act
   * require.
   */
  TALLYSTICK_RETENTION_DAYS_MIN: retentionDays.default(RETENTION_DAYS_MIN_DEFAULT),
  /**
   * Location of the archive: s3://bucket/prefix or file:///directory. The worker archives ledgers there, and servers
   * read content there that is no longer in Postgres (docs/operate/backup-and-archive.md#the-archive).
   */
  TALLYSTICK_ARCHIVE: z.string().optional(),
  TALLYSTICK_ARCHIVE_S3_ENDPOINT: url.optional(),
  TALLYSTICK_ARCHIVE_S3_REGION: z.string().optional(),
  TALLYSTICK_ARCHIVE_S3_PATH_STYLE: flag.default(false),
  /** Number of days for which S3 Object Lock protects archived objects. */
  TALLYSTICK_ARCHIVE_LOCK_DAYS: numberUpTo('days', 1, ARCHIVE_LOCK_DAYS_MAX).optional(),
  TALLYSTICK_ARCHIVE_LOCK_MODE: z.enum(['GOVERNANCE', 'COMPLIANCE']).default('COMPLIANCE'),
  TALLYSTICK_ARCHIVE_SEAL_ENTRIES: numberUpTo('entries', 1, ARCHIVE_SEAL_ENTRIES_MAX).default(
    ARCHIVE_SEAL_ENTRIES_DEFAULT,
  ),
  TALLYSTICK_ARCHIVE_SEAL_SECONDS: numberUpTo('seconds', 0, ARCHIVE_SEAL_SECONDS_MAX).default(
    ARCHIVE_SEAL_SECONDS_DEFAULT,
  ),
  /** Age in days at which content of archived entries is removed from Postgres. */
  TALLYSTICK_ARCHIVE_KEEP_DAYS: numberUpTo('days', 0, ARCHIVE_RETENTION_DAYS_MAX).optional(),
  TALLYSTICK_LOG_REQUESTS: z
    .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })
    .default(false),
  TALLYSTICK_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
} satisfies Record<ServerVariable | 'DATABASE_URL', z.ZodType>)

/**
 * An archive and its policy. A prefix of a ledger is sealed when it has `entries` entries, or when its first entry is
 * `seconds` old.
 */
type ArchiveSetting = {
  readonly location: ArchiveLocation
  readonly policy: { readonly entries: number; readonly seconds: number }
  /** Age in days at which content is removed from Postgres; null if all content stays in Postgres. */
  readonly retentionDays: number | null
}

export type Config = {
  readonly host: string
  readonly port: number
  readonly metricsPort: number | null
  readonly drainMs: number
  /** Number of threads; null means the number of CPU cores + 1. */
  readonly threads: number | null
  readonly dataDir: string
  readonly publicUrl: string
  /** URL for commands that send requests to the server; null if `publicUrl` is used. */
  readonly serverUrl: string | null
  readonly ownerUrl: string | null
  readonly targetOwnerUrl: string | null
  readonly apiUrl: string | null
  readonly workerUrl: string | null
  /** URL of the standby for reads; null if all reads go to the primary. */
  readonly replicaUrl: string | null
  readonly replicaLagMsMax: number
  readonly database: DatabaseOptions
  readonly schemaWaitMs: number
  readonly loginPasswordFiles: { readonly api: string | null; readonly worker: string | null }
  readonly loginsByRdsIam: boolean
  readonly masterKey: Uint8Array | null
  readonly previousMasterKey: Uint8Array | null
  readonly operatorKey: string | null
  readonly previousOperatorKey: string | null
  readonly outboundAllow: Allowances
  readonly witnesses: readonly WitnessSetting[]
  readonly peerWitnesses: boolean
  /** Options of tracing; null if tracing is off. */
  readonly tracing: TracingOptions | null
  /** OpenTelemetry variables that are ignored. They are logged. */
  readonly tracingIgnored: readonly Ignored[]
  readonly console: boolean
  readonly retentionDaysMin: number
  readonly archive: ArchiveSetting | null
  /** S3 settings. Commands use them even if no archive is configured. */
  readonly s3: S3Settings
  readonly logLevel: string
  readonly logRequests: boolean
}

/** Parses the environment of this process (`parseConfig`). Warns of unknown variables on standard error. */
export function readConfig(): Config {
  for (const line of warnOfUnknown(process.env)) writeLine(line)
  return parseConfig(process.env)
}

/**
 * Parses the environment. Throws an Error that lists every fault by variable, and shows no secret value. An empty
 * variable counts as unset, because many tools pass unset variables as empty ones.
 */
export function parseConfig(env: NodeJS.ProcessEnv): Config {
  const notEmpty = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const keys = readKeyFiles(notEmpty)
  const given = keys.env
  const parsed = environment.safeParse(given)
  const tracing = parseTracing(given)
  const database = parseDatabaseOptions(given)
  const witnesses = readWitnesses(parsed.data)
  const archive = readArchive(parsed.data)
  const others = [...keys.issues, ...database.issues, ...witnesses.issues, ...archive.issues]
  if (!parsed.success || others.length > 0) {
    const issues = [...(parsed.error?.issues ?? []), ...others]
    const faults = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw new Error(`the configuration is not valid:\n  ${faults.join('\n  ')}`)
  }
  const values = parsed.data
  return {
    host: values.TALLYSTICK_HOST,
    port: values.TALLYSTICK_PORT,
    metricsPort: values.TALLYSTICK_METRICS_PORT ?? null,
    drainMs: values.TALLYSTICK_DRAIN_SECONDS * 1_000,
    threads: values.TALLYSTICK_THREADS ?? null,
    dataDir: resolve(values.TALLYSTICK_DATA),
    publicUrl: (values.TALLYSTICK_PUBLIC_URL ?? `http://localhost:${values.TALLYSTICK_PORT}`).replace(
      /\/+$/,
      '',
    ),
    serverUrl: values.TALLYSTICK_URL ?? null,
    ownerUrl: values.DATABASE_URL ?? null,
    targetOwnerUrl: values.TALLYSTICK_TARGET_DATABASE_URL ?? null,
    apiUrl: values.TALLYSTICK_API_DATABASE_URL ?? null,
    workerUrl: values.TALLYSTICK_WORKER_DATABASE_URL ?? null,
    replicaUrl: values.TALLYSTICK_REPLICA_URL ?? null,
    replicaLagMsMax: values.TALLYSTICK_REPLICA_LAG_MS_MAX,
    database: database.options,
    schemaWaitMs: values.TALLYSTICK_SCHEMA_WAIT_SECONDS * 1_000,
    loginPasswordFiles: {
      api: values.TALLYSTICK_API_DATABASE_PASSWORD_FILE ?? null,
      worker: values.TALLYSTICK_WORKER_DATABASE_PASSWORD_FILE ?? null,
    },
    loginsByRdsIam: values.TALLYSTICK_DATABASE_LOGINS === 'rds-iam',
    masterKey: values.TALLYSTICK_MASTER_KEY ?? null,
    previousMasterKey: values.TALLYSTICK_MASTER_KEY_PREVIOUS ?? null,
    operatorKey: values.TALLYSTICK_OPERATOR_KEY ?? null,
    previousOperatorKey: values.TALLYSTICK_OPERATOR_KEY_PREVIOUS ?? null,
    outboundAllow: values.TALLYSTICK_OUTBOUND_ALLOW,
    witnesses: witnesses.settings,
    peerWitnesses: values.TALLYSTICK_PEER_WITNESSES,
    tracing: tracing.options,
    tracingIgnored: tracing.ignored,
    console: values.TALLYSTICK_CONSOLE,
    retentionDaysMin: values.TALLYSTICK_RETENTION_DAYS_MIN,
    archive: archive.setting,
    s3: s3Of(parsed.data),
    logLevel: values.TALLYSTICK_LOG_LEVEL,
    logRequests: values.TALLYSTICK_LOG_REQUESTS,
  }
}

type Outbound = { readonly TALLYSTICK_WITNESSES: string; readonly TALLYSTICK_OUTBOUND_ALLOW: Allowances }

/** Parses the witnesses. `values` is absent if another variable is invalid. That fault is reported first. */
function readWitnesses(values: Outbound | undefined) {
  try {
    const { TALLYSTICK_WITNESSES: text = '', TALLYSTICK_OUTBOUND_ALLOW: allowances = [] } = values ?? {}
    return { settings: parseWitnesses(text, allowances), issues: [] }
  } catch (error) {
    return { settings: [], issues: [{ path: ['TALLYSTICK_WITNESSES'], message: (error as Error).message }] }
  }
}

function s3Of(values: z.infer<typeof environment>): S3Settings {
  const days = values.TALLYSTICK_ARCHIVE_LOCK_DAYS
  return {
    endpoint: values.TALLYSTICK_ARCHIVE_S3_ENDPOINT ?? null,
    region: values.TALLYSTICK_ARCHIVE_S3_REGION ?? null,
    pathStyle: values.TALLYSTICK_ARCHIVE_S3_PATH_STYLE,
    lock: days === undefined ? null : { days, mode: values.TALLYSTICK_ARCHIVE_LOCK_MODE },
  }
}

/** Parses the archive's settings. `values` is absent if another variable is invalid. That fault is reported first. */
function readArchive(values: z.infer<typeof environment> | undefined) {
  if (values?.TALLYSTICK_ARCHIVE === undefined) return { setting: null, issues: [] }
  const days = values.TALLYSTICK_ARCHIVE_LOCK_DAYS
  const retentionDays = values.TALLYSTICK_ARCHIVE_KEEP_DAYS ?? null
  try {
    if (days !== undefined && retentionDays !== null && days <= retentionDays)
      throw new Error(
        `TALLYSTICK_ARCHIVE_LOCK_DAYS (${days}) must be more than TALLYSTICK_ARCHIVE_KEEP_DAYS (${retentionDays}): content leaves Postgres after ` +
          'KEEP_DAYS, and the archive no longer protects it after LOCK_DAYS. Lock it for as long as you need the content',
      )
    const location = parseArchiveLocation(values.TALLYSTICK_ARCHIVE, s3Of(values))
    const policy = {
      entries: values.TALLYSTICK_ARCHIVE_SEAL_ENTRIES,
      seconds: values.TALLYSTICK_ARCHIVE_SEAL_SECONDS,
    }
    return { setting: { location, policy, retentionDays }, issues: [] }
  } catch (error) {
    return { setting: null, issues: [{ path: ['TALLYSTICK_ARCHIVE'], message: (error as Error).message }] }
  }
}

/** Returns the value. If the value is null, throws an error that names the variable to set. */
export function required<T>(value: T | null, variable: string, purpose: string): T {
  if (value === null) throw new Error(`${variable} is not set: ${purpose}`)
  return value
}
