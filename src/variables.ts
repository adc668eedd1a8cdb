/** Names of variables that servers, workers and their commands read. src/run/config.ts parses them. */
const SERVER = [
  'TALLYSTICK_HOST',
  'TALLYSTICK_PORT',
  'TALLYSTICK_METRICS_PORT',
  'TALLYSTICK_DRAIN_SECONDS',
  'TALLYSTICK_THREADS',
  'TALLYSTICK_DATA',
  'TALLYSTICK_PUBLIC_URL',
  'TALLYSTICK_URL',
  'TALLYSTICK_TARGET_DATABASE_URL',
  'TALLYSTICK_API_DATABASE_URL',
  'TALLYSTICK_WORKER_DATABASE_URL',
  'TALLYSTICK_REPLICA_URL',
  'TALLYSTICK_REPLICA_LAG_MS_MAX',
  'TALLYSTICK_SCHEMA_WAIT_SECONDS',
  'TALLYSTICK_API_DATABASE_PASSWORD_FILE',
  'TALLYSTICK_WORKER_DATABASE_PASSWORD_FILE',
  'TALLYSTICK_DATABASE_LOGINS',
  'TALLYSTICK_MASTER_KEY',
  'TALLYSTICK_MASTER_KEY_PREVIOUS',
  'TALLYSTICK_OPERATOR_KEY',
  'TALLYSTICK_OPERATOR_KEY_PREVIOUS',
  'TALLYSTICK_OUTBOUND_ALLOW',
  'TALLYSTICK_WITNESSES',
  'TALLYSTICK_PEER_WITNESSES',
  'TALLYSTICK_CONSOLE',
  'TALLYSTICK_RETENTION_DAYS_MIN',
  'TALLYSTICK_ARCHIVE',
  'TALLYSTICK_ARCHIVE_S3_ENDPOINT',
  'TALLYSTICK_ARCHIVE_S3_REGION',
  'TALLYSTICK_ARCHIVE_S3_PATH_STYLE',
  'TALLYSTICK_ARCHIVE_LOCK_DAYS',
  'TALLYSTICK_ARCHIVE_LOCK_MODE',
  'TALLYSTICK_ARCHIVE_SEAL_ENTRIES',
  'TALLYSTICK_ARCHIVE_SEAL_SECONDS',
  'TALLYSTICK_ARCHIVE_KEEP_DAYS',
  'TALLYSTICK_LOG_REQUESTS',
  'TALLYSTICK_LOG_LEVEL',
] as const

/** Names of variables that contain the path of a file. The file contains the value of the variable without `_FILE`. */
export const KEY_FILE_VARIABLES = [
  'TALLYSTICK_MASTER_KEY_FILE',
  'TALLYSTICK_MASTER_KEY_PREVIOUS_FILE',
  'TALLYSTICK_OPERATOR_KEY_FILE',
  'TALLYSTICK_OPERATOR_KEY_PREVIOUS_FILE',
] as const

/**
 * Names of variables for the connection to Postgres. src/db/connect/options.ts parses them, also for the command line.
 */
const DATABASE = [
  'TALLYSTICK_DATABASE_CA_FILE',
  'TALLYSTICK_DATABASE_ACCEPT',
  'TALLYSTICK_DATABASE_PASSWORD_FILE',
  'TALLYSTICK_DATABASE_PASSWORD_COMMAND',
  'TALLYSTICK_DATABASE_PASSWORD_CACHE_SECONDS',
] as const

/** Names of variables that the command line, the SDK and the Python client read. */
const CLIENT = ['TALLYSTICK_API_KEY', 'TALLYSTICK_SIGNING_KEY', 'TALLYSTICK_SPOOL'] as const

/** Names of variables that only deploy/compose.yaml reads. */
const COMPOSE = ['TALLYSTICK_IMAGE'] as const

export type ServerVariable = (typeof SERVER)[number]
export type DatabaseVariable = (typeof DATABASE)[number]

/** Variables that docs/operate/settings.md explains. */
export const CONFIGURATION = [...SERVER, ...KEY_FILE_VARIABLES, ...DATABASE] as const
/**
 * Names of all variables of Tallystick. Each program must know the variables of the others, because programs share an
 * environment.
 */
export const VARIABLES: readonly string[] = [...CONFIGURATION, ...CLIENT, ...COMPOSE]

/** Maximum edit distance of a suggestion for an unknown name. */
const EDITS_MAX = 2

/** Prefix of variables for tests of this repository (CONTRIBUTING.md). */
const OF_TESTS = 'TALLYSTICK_TEST_'

/** Returns a line for each unknown variable that begins with TALLYSTICK_, with the most similar known name. */
export function warnOfUnknown(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('TALLYSTICK_') && !name.startsWith(OF_TESTS))
    .filter((name) => !VARIABLES.includes(name))
    .sort()
    .map((name) => {
      const [nearest] = VARIABLES.map((known) => ({ known, edits: editsBetween(name, known) }))
        .filter(({ edits }) => edits <= EDITS_MAX)
        .sort((a, b) => a.edits - b.edits)
      const meant = nearest ? `: did you mean ${nearest.known}?` : ' (docs/operate/settings.md)'
      return `tallystick: no program reads the variable ${name}${meant}`
    })
}

function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}
