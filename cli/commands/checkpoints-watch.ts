import { setTimeout as sleep } from 'node:timers/promises'
import { loadProviders } from '../../src/verify/providers.ts'
import { fetchLatestCheckpoint, fetchLedger } from '../../src/verify/server.ts'
import { SourceError } from '../../src/verify/source.ts'
import { CheckpointFile } from '../checkpoint-file.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { UsageError } from '../run.ts'
import { serverAddress } from '../server-address.ts'

const HELP = `tallystick checkpoints watch FILE --server URL [--every SECONDS] [--once]

Keeps a ledger's checkpoints outside of it: whoever operates the ledger cannot take them back, and
\`tallystick verify --checkpoint FILE\` later finds whatever he changed in what they cover. Each new checkpoint is
verified and appended to FILE (one line of JSON each). Ends with exit code 1 at a checkpoint that contradicts one
that was kept: another root at the same size, or a smaller ledger.

  --server URL      a running server, for example http://localhost:3000
  --api-key KEY     an API key with the scope audit:read; better: TALLYSTICK_API_KEY
  --every SECONDS   how often to ask (default 60)
  --once            ask once, and end
  -h, --help
`

const EVERY_SECONDS_DEFAULT = 60
const EVERY_SECONDS_MAX = 86_400

const OPTIONS = {
  server: { type: 'string' },
  'api-key': { type: 'string' },
  every: { type: 'string' },
  once: { type: 'boolean' },
} as const

type Values = ValuesOf<typeof OPTIONS>

export const checkpointsWatch = defineCommand({ help: HELP, options: OPTIONS, run: watch })

async function watch(values: Values, [path, ...rest]: readonly string[]): Promise<ExitCode> {
  if (path === undefined || rest.length > 0 || values.server === undefined)
    throw new UsageError('say: tallystick checkpoints watch FILE --server URL')
  const everyMs = parseEvery(values.every) * 1000
  const address = serverAddress(values.server, values['api-key'])
  const { origin, noteVerifierKey } = await fetchLedger(address)
  const file = await CheckpointFile.open(
    path,
    { origin, verifierKey: noteVerifierKey },
    await loadProviders(),
  )
  for (;;) {
    const contradiction = await watchOnce(file, () => fetchLatestCheckpoint(address))
    if (contradiction !== null) {
      process.stdout.write(`CHECKPOINT_CONTRADICTION ${contradiction}\n`)
      return EXIT.refused
    }
    if (values.once) return EXIT.ok
    await sleep(everyMs)
  }
}

/** A server that does not answer now may answer later: that is said, and does not end the watch. */
async function watchOnce(
  file: CheckpointFile,
  fetchNote: () => Promise<string | null>,
): Promise<string | null> {
  let note: string | null
  try {
    note = await fetchNote()
  } catch (error) {
    if (!(error instanceof SourceError) || error.kind !== 'unavailable') throw error
    process.stderr.write(`tallystick: ${error.message}\n`)
    return null
  }
  return note === null ? null : file.keep(note)
}

function parseEvery(text: string | undefined): number {
  if (text === undefined) return EVERY_SECONDS_DEFAULT
  const seconds = Number(text)
  if (/^\d+$/.test(text) && seconds >= 1 && seconds <= EVERY_SECONDS_MAX) return seconds
  throw new UsageError(`--every takes seconds, from 1 to ${EVERY_SECONDS_MAX}`)
}
