import { readCheckpointFile } from '../../src/verify/checkpoint-file.ts'
import { exportFile } from '../../src/verify/export-file.ts'
import { THREADS_MAX } from '../../src/verify/limits.ts'
import { parseCompromised, parseKid } from '../../src/verify/parse-kid.ts'
import { formatReconciliation, reconcileLedgers } from '../../src/verify/reconcile.ts'
import { parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { EXIT, HELP_EXIT_CODES } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { readKnownLedgers } from '../known-ledgers.ts'
import { jsonLine, textLine } from '../output.ts'
import { openProgressBar } from '../progress.ts'
import { UsageError } from '../run.ts'
import { SPOOL_HELP, SPOOL_OPTIONS, type SpoolValues, standardInput } from '../standard-input.ts'

const HELP = `tallystick reconcile A.export B.export [--key KID]…

Checks two ledgers that share records: each by itself, like \`tallystick verify\`, and then both against each other.
Everything that one of them received must be what the other one signed, and nothing may be missing. Offline, in either
order.

  A.export, B.export  exports of the two (\`tallystick export\`); one of them may be -, standard input

What to trust:
  --key KID          the kid (64 hex digits) of the first envelope key of one of them, known from elsewhere. Repeatable
  --checkpoint FILE  a checkpoint of one of them that you stored: that ledger must extend it. Repeatable
  --compromised KID[=TIME]  a stolen key of one of them, as for \`tallystick verify\`. Repeatable
  --strict           fail unless keys and checkpoints of both are given, and each export includes everything that the
                     other one has from it
  Ledgers pinned by \`verify --pin\` are compared with their pins.

${SPOOL_HELP}
  --threads N        verification threads; 0: none. Default: one per core for large ledgers
  --json             the report as one JSON object
  -h, --help

The last line:
  RECONCILED records=… entries=… offers=… inFlight=… keys=given|pinned|self-asserted dropped=… beyond=…
    inFlight  sent, and not received by the end of the other export: no fault
    dropped   in flight, but the peering has ended. Absent if there are none
    beyond    received from after the end of the other's export, which says nothing of them. Absent if there are none
  NOT_RECONCILED ledger=… seq=<first difference> code=… reason="…"

Examples:
  tallystick reconcile ours.ndjson theirs.ndjson
  tallystick reconcile ours.ndjson theirs.ndjson --key 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

${HELP_EXIT_CODES}`

export const reconcile = defineCommand({
  help: HELP,
  options: {
    key: { type: 'string', multiple: true },
    checkpoint: { type: 'string', multiple: true },
    compromised: { type: 'string', multiple: true },
    strict: { type: 'boolean' },
    ...SPOOL_OPTIONS,
    threads: { type: 'string' },
    json: { type: 'boolean' },
  },
  async run(values, positionals, io) {
    const [a, b] = positionals
    if (a === undefined || b === undefined || positionals.length > 2)
      throw new UsageError('usage: tallystick reconcile A.export B.export')
    if (a === '-' && b === '-')
      throw new UsageError(
        'only one of the two exports can be read from standard input (-): name a file for the other one',
      )
    const threads = parseCount(values.threads, '--threads', { min: 0, max: THREADS_MAX })
    const kids = (values.key ?? []).map(parseKid)
    const checkpoints = (await Promise.all((values.checkpoint ?? []).map(readCheckpointFile))).flat()
    const bar = openProgressBar(io.stderr)
    try {
      const report = await reconcileLedgers([sourceOf(a, values, io), sourceOf(b, values, io)], {
        kids,
        checkpoints,
        compromised: parseCompromised(values.compromised),
        pinned: await readKnownLedgers(),
        strict: values.strict ?? false,
        onProgress: bar.update,
        ...(threads !== undefined && { threads }),
      })
      bar.close()
      const notices = new Set(report.ledgers.flatMap(({ notices }) => notices))
      for (const notice of notices) io.stderr.write(`tallystick: ${notice}\n`)
      io.stdout.write(
        values.json ? jsonLine(report, io.stdout) : textLine(formatReconciliation(report), io.stdout),
      )
      return report.ok ? EXIT.ok : EXIT.refused
    } finally {
      bar.close()
    }
  },
})

function sourceOf(path: string, values: SpoolValues, io: Io) {
  return path === '-' ? standardInput(io, values) : exportFile(path)
}
