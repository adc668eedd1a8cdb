import { setTimeout as sleep } from 'node:timers/promises'
import type { Tallystick } from '../../sdk/client.ts'
import { TallystickError } from '../../sdk/errors.ts'
import { plain } from '../../sdk/plain.ts'
import { countCosignatures, type WitnessPolicy } from '../../src/proof/tree/cosignature.ts'
import { parseNote } from '../../src/proof/tree/note.ts'
import { loadProviders } from '../../src/verify/providers.ts'
import { SourceError } from '../../src/verify/source.ts'
import { onlyArgument, parseCount } from '../arguments.ts'
import { CheckpointFile, type Prove } from '../checkpoint-file.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { RefusedError } from '../run.ts'
import { parseWitnessOptions, WITNESS_OPTIONS } from '../witness-options.ts'

const EVERY_SECONDS_DEFAULT = 60
const EVERY_SECONDS_MAX = 86_400

const HELP = `tallystick checkpoints watch FILE [--every SECONDS] [--once] [--witness VKEY…]

Stores a ledger's checkpoints outside of it, where the ledger's operator cannot change them.
\`tallystick verify --checkpoint FILE\` later finds every change to what they cover. Each new checkpoint is verified and
appended to FILE (one line of JSON each), if the server proves that the ledger continues the last stored one. Needs a
key with the scope audit:read.

Ends with 1 if a checkpoint contradicts a stored one: another root at the same size, a smaller ledger, or a larger one
that does not begin with it. Both notes are then stored beside FILE, as FILE.contradiction-…, and every further watch
is refused until you have moved them away.

  --every SECONDS  time between two requests (default ${EVERY_SECONDS_DEFAULT})
  --once           request one checkpoint, and end
  --witness VKEY   only store checkpoints that this witness has cosigned. Repeatable
  --witnesses-min K  how many of these witnesses must have (default all)
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick checkpoints watch kept.ndjson --server https://ledger.example
  tallystick checkpoints watch kept.ndjson --once
`

const OPTIONS = {
  every: { type: 'string' },
  once: { type: 'boolean' },
  ...WITNESS_OPTIONS,
  ...CONNECTION_OPTIONS,
} as const

export const checkpointsWatch = defineCommand({ help: HELP, options: OPTIONS, run: watch })

async function watch(
  values: ValuesOf<typeof OPTIONS>,
  positionals: readonly string[],
  io: Io,
): Promise<ExitCode> {
  const path = onlyArgument(positionals, 'checkpoints watch FILE')
  const everySeconds =
    parseCount(values.every, '--every', { max: EVERY_SECONDS_MAX }) ?? EVERY_SECONDS_DEFAULT
  const witnesses = await parseWitnessOptions(values)
  const client = await connect(values)
  const { origin, noteVerifierKey } = await client.ledger.get()
  const file = await CheckpointFile.open(path, { origin, noteKey: noteVerifierKey }, await loadProviders())
  const prove = makeProve(client, path)
  for (;;) {
    const contradiction = await poll(client, file, prove, witnesses).catch((error) => {
      if (values.once || !isPassing(error)) throw error
      io.stderr.write(`tallystick: ${plain(error.message)}\n`)
      return null
    })
    if (contradiction !== null) {
      io.stdout.write(`CHECKPOINT_CONTRADICTION ${plain(contradiction)}\n`)
      return EXIT.refused
    }
    if (values.once) return EXIT.ok
    await sleep(everySeconds * 1000)
  }
}

async function poll(
  client: Tallystick,
  file: CheckpointFile,
  prove: Prove,
  witnesses: WitnessPolicy | undefined,
): Promise<string | null> {
  const note = await client.checkpoints.latest({ cosignatures: witnesses?.min })
  if (note === null) return null
  if (witnesses) await requireWitnesses(note, witnesses)
  return file.append(note, prove)
}

/**
 * Throws SourceError `unavailable` if the note lacks cosignatures of the required witnesses. The watch then continues.
 * The server counts cosignatures of any witness, so a later checkpoint may have enough of the required witnesses.
 */
async function requireWitnesses(note: string, policy: WitnessPolicy): Promise<void> {
  const { cosigned } = countCosignatures(parseNote(note), policy, await loadProviders())
  if (cosigned >= policy.min) return
  throw new SourceError(
    'unavailable',
    `the checkpoint is not stored: ${cosigned} of the ${policy.witnesses.length} witnesses cosigned it, and ${policy.min} are needed`,
  )
}

/**
 * Returns a function that fetches consistency proofs. It throws if the server gives no proof, because a forked ledger
 * has no proof.
 */
function makeProve(client: Tallystick, path: string): Prove {
  return (from, to) =>
    client.checkpoints.consistency(from, to).catch((error: Error) => {
      const message =
        `the checkpoint of ${to} entries is not stored: the server does not prove that it continues the stored checkpoint ` +
        `of ${from} entries (${error.message}). Ask the server's operator. If the error persists, check the ledger: ` +
        `tallystick verify --checkpoint ${path}`
      throw isAway(error)
        ? new SourceError('unavailable', message, { cause: error })
        : new RefusedError(message, { cause: error })
    })
}

/** Returns whether the server may answer later. The watch then reports the error and continues. */
function isPassing(error: Error): boolean {
  return isAway(error) || (error instanceof SourceError && error.kind === 'unavailable')
}

function isAway(error: unknown): boolean {
  return error instanceof TallystickError && error.retryable
}
