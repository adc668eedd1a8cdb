import { ProofError } from '../../src/proof/error.ts'
import { isKeyName } from '../../src/proof/names.ts'
import type { KnownLog } from '../../src/proof/tree/add-checkpoint.ts'
import { formatNoteKey, parseNoteKey } from '../../src/proof/tree/note.ts'
import { loadProviders } from '../../src/verify/providers.ts'
import { noArguments } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { UsageError } from '../run.ts'
import { WITNESS_LOGS_MAX } from '../witness/limits.ts'
import { serve } from '../witness/serve.ts'
import { WitnessState } from '../witness/state.ts'
import { Witness } from '../witness/witness.ts'

const LISTEN_DEFAULT = '127.0.0.1:3070'

const HELP = `tallystick witness --state DIR --log VKEY… [--name NAME] [--listen HOST:PORT]

Runs a witness (C2SP tlog-witness): logs send it their checkpoints. It cosigns a checkpoint if a proof shows that the
checkpoint continues the largest one that it has cosigned. People who rely on a log then know that everybody sees the
same history. It works for any C2SP log: a ledger of Tallystick, a Tessera log. Let other people run it, on other
machines than the logs; put TLS in front of it.

DIR has the key, and the newest cosigned checkpoint of each log. NEVER RESTORE IT FROM A BACKUP, and never copy it: a
witness with an old state can cosign a second history. If DIR is lost or old, start with an empty one: a new key.

  --state DIR         its folder. If it is absent or empty, it is made, with a new key. One process for each folder
  --name NAME         name of a new witness, usually a host and path without scheme: witness.example/w1
  --log VKEY          verifier key of a log (type 01; for a ledger noteVerifierKey of GET /v1/ledger). Its name is the
                      log's origin. Repeatable, up to ${WITNESS_LOGS_MAX}; several keys with one name may all sign for that log
  --listen HOST:PORT  default ${LISTEN_DEFAULT}
  -h, --help

When it listens, it prints one line that begins with WITNESS_READY and has its verifier key. Warnings go to stderr: if a
log signed two histories, the warning names it, and both notes are stored in DIR.

Examples:
  tallystick witness --state /var/lib/witness --name witness.example/w1 --log "$NOTE_VERIFIER_KEY"
`

export const witness = defineCommand({
  help: HELP,
  options: {
    state: { type: 'string' },
    name: { type: 'string' },
    log: { type: 'string', multiple: true },
    listen: { type: 'string' },
  },
  async run(values, positionals, io) {
    noArguments(positionals, 'witness --state DIR --log VKEY')
    if (values.state === undefined)
      throw new UsageError('add --state DIR: the folder in which the witness stores its key and its state')
    if (values.name !== undefined && !isKeyName(values.name))
      throw new UsageError('--name takes a name without spaces and plus signs, such as witness.example/w1')
    const { notice: _, ...providers } = await loadProviders()
    const logs = parseLogs(values.log ?? [], (vkey) => parseNoteKey(vkey, 'signature', providers.sha256))
    const address = parseListen(values.listen ?? LISTEN_DEFAULT)
    const warn = (message: string) => void io.stderr.write(`tallystick: ${message}\n`)
    const state = await WitnessState.open(values.state, values.name, providers)
    try {
      const witness = new Witness({ state, logs, providers, now: Date.now, warn })
      const server = await serve({ witness, state, warn }, address)
      const vkey = formatNoteKey(state.key.name, 'cosignature', state.key.key.raw, providers.sha256)
      io.stdout.write(`WITNESS_READY vkey=${vkey} url=${server.url} logs=${logs.size}\n`)
      await stopped()
      await server.close()
    } finally {
      await state.close()
    }
    return EXIT.ok
  },
})

function parseLogs(
  vkeys: readonly string[],
  parse: (vkey: string) => KnownLog['keys'][number],
): Map<string, KnownLog> {
  if (vkeys.length === 0) throw new UsageError('add --log VKEY: the verifier key of each log to witness')
  if (vkeys.length > WITNESS_LOGS_MAX)
    throw new UsageError(`--log can be given at most ${WITNESS_LOGS_MAX} times`)
  const logs = new Map<string, KnownLog>()
  for (const vkey of vkeys) {
    const key = parseOrRefuse(vkey, parse)
    const keys = [...(logs.get(key.name)?.keys ?? []), key]
    logs.set(key.name, { origin: key.name, keys })
  }
  return logs
}

function parseOrRefuse<T>(vkey: string, parse: (vkey: string) => T): T {
  try {
    return parse(vkey)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new UsageError(`--log ${vkey} is not the verifier key of a log: ${error.detail}`)
  }
}

function parseListen(text: string): { host: string; port: number } {
  const [, host, port] = /^\[?([^[\]]+?)\]?:(\d{1,5})$/.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535)
    throw new UsageError(`--listen takes HOST:PORT, such as ${LISTEN_DEFAULT}`)
  return { host, port: Number(port) }
}

function stopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}
