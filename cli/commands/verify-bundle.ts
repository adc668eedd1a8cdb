import { type BundleReport, checkBundle } from '../../sdk/verify/bundle.ts'
import { VerificationError } from '../../sdk/verify/errors.ts'
import { PROOF_BYTES_MAX } from '../../src/proof/limits.ts'
import { quoted } from '../../src/proof/quoted.ts'
import type { WitnessPolicy } from '../../src/proof/tree/cosignature.ts'
import { readCheckpointFile } from '../../src/verify/checkpoint-file.ts'
import { parseAgentKeys, parseCompromised, parseKid } from '../../src/verify/parse-kid.ts'
import { readBytes } from '../../src/verify/read-text.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { EXIT, HELP_EXIT_CODES } from '../exit-codes.ts'
import { openPieces } from '../open-pieces.ts'
import { jsonLine, textLine } from '../output.ts'
import { UsageError } from '../run.ts'
import { parseWitnessOptions, WITNESS_OPTIONS } from '../witness-options.ts'
import { parseNoteKey } from './verify-proof.ts'

const HELP = `tallystick verify bundle FILE [--note-key VKEY | --key KID] [--checkpoint FILE]

Checks a bundle, offline: every envelope and its signature, documents, items of batches, the position of each entry in
the tree of the bundle's checkpoint, the keys from the ledger's first entry on; the steps of a gated record, the parents
of a run, and that no entry of a range is missing. FILE is what \`tallystick bundle\` wrote (docs/formats/bundles.md).

What to trust (one of the two keys is enough, because the ledger's first entry names both):
  --note-key VKEY  the ledger's note verifier key, known from elsewhere (noteVerifierKey of GET /v1/ledger)
  --key KID        the kid (64 hex digits) of the ledger's first envelope key, known from elsewhere. Repeatable
  --checkpoint FILE  a checkpoint that you stored: the bundle must have the same one, or a proof that joins the two:
    --consistency FILE   an answer of GET /v1/checkpoints/consistency?from=…&to=…
  --witness VKEY   the verifier key of a witness: the last line counts those that cosigned the bundle's checkpoint.
                   Repeatable
  --witnesses-min K  with --strict: how many of them must have cosigned (default all)
  --agent-key AGENT=KID  a key of an agent that signs for itself, known from elsewhere: each entry of the agent must be
                   signed by it, or by a key that it endorsed. Repeatable
  --compromised KID[=TIME]  a stolen key, whatever the bundle says. Repeatable
  --strict         fail unless one of the keys is given, and a checkpoint that covers the entries (or --witness, and the
                   bundle's checkpoint is cosigned), and the bundle has documents

  --json           the report as one JSON object
  -h, --help

The last line:
  BUNDLE_OK ledger=… of=record:rec_…|run:rec_…|range:<from>-<to>|selection:<from>-<to>,<filter>
    completeness=complete|selection entries=… keys=given|self-asserted note-key=given|self-asserted
    checkpoint=given|own covered=<size> of <size of the bundle's> selected="N of M" records=… agent-signed=…
    statements=… erased=… cosigned=… unknown-cosignatures=… documents=withheld (one line; parts that do not apply
    are absent)
  BUNDLE_FAILED seq=<bad entry> code=… reason="…"
A range is complete. A record or a run is a selection: everything in it is genuine, and the ledger may have more.

Examples:
  tallystick verify bundle record.bundle --note-key "$NOTE_KEY"
  tallystick verify bundle thousand.bundle --key "$FIRST_KID" --checkpoint kept.ndjson --consistency consistency.json

${HELP_EXIT_CODES}`

export const verifyBundle = defineCommand({
  help: HELP,
  options: {
    'note-key': { type: 'string' },
    key: { type: 'string', multiple: true },
    checkpoint: { type: 'string', multiple: true },
    consistency: { type: 'string' },
    compromised: { type: 'string', multiple: true },
    'agent-key': { type: 'string', multiple: true },
    ...WITNESS_OPTIONS,
    strict: { type: 'boolean' },
    json: { type: 'boolean' },
  },
  async run(values, positionals, io) {
    const path = onlyArgument(positionals, 'verify bundle FILE')
    const { consistency, checkpoint = [], key = [] } = values
    if (consistency !== undefined && checkpoint.length === 0)
      throw new UsageError('--consistency needs a checkpoint that you stored: add --checkpoint FILE')
    const witnesses = await parseWitnessOptions(values)
    const found = await checkBundle(openPieces(path), {
      kids: key.map(parseKid),
      noteKey: (await parseNoteKey(values['note-key'])) ?? undefined,
      checkpoints: (await Promise.all(checkpoint.map(readCheckpointFile))).flat(),
      consistency: consistency === undefined ? undefined : await readBytes(consistency, PROOF_BYTES_MAX),
      compromised: timesOf(parseCompromised(values.compromised)),
      witnesses,
      agentKeys: parseAgentKeys(values['agent-key']),
    }).catch(toFailure)
    const report = values.strict ? strictly(found, witnesses) : found
    if ('notices' in report) for (const notice of report.notices) io.stderr.write(`tallystick: ${notice}\n`)
    io.stdout.write(values.json ? jsonLine(report, io.stdout) : textLine(formatReport(report), io.stdout))
    return 'code' in report ? EXIT.refused : EXIT.ok
  },
})

function timesOf(compromised: ReadonlyMap<string, number | null>): Record<string, string | null> {
  const times = [...compromised].map(([kid, ms]) => [kid, ms === null ? null : new Date(ms).toISOString()])
  return Object.fromEntries(times)
}

type Failure = { readonly seq: number | null; readonly code: string; readonly reason: string }

function toFailure(error: unknown): Failure {
  if (error instanceof VerificationError) return { seq: error.seq, code: error.code, reason: error.detail }
  throw error
}

/**
 * Applies `--strict`: returns a Failure for a result that depends on the bundle's own claims. The user must have given
 * a key, and either witnesses or a checkpoint.
 */
function strictly(report: BundleReport | Failure, policy: WitnessPolicy | undefined): BundleReport | Failure {
  if ('code' in report) return report
  const { keys, noteKey, checkpoint, documents, cosigned } = report
  const refusal = (code: string, reason: string) => ({ seq: null, code, reason })
  if (keys !== 'given' && noteKey !== 'given')
    return refusal('keys_not_given', 'no key is given: add --note-key or --key')
  if (policy && cosigned! < policy.min)
    return refusal(
      'witnesses_too_few',
      `${cosigned} of the ${policy.witnesses.length} witnesses cosigned its checkpoint, and ${policy.min} are needed`,
    )
  if (!policy && checkpoint !== 'given')
    return refusal(
      'checkpoint_not_given',
      'no checkpoint that covers the entries is given: store one, and add --checkpoint',
    )
  if (documents === 'withheld') return refusal('documents_withheld', 'the bundle was made without documents')
  return report
}

function nameOf(of: BundleReport['of']): string {
  if ('from' in of) return `range:${of.from}-${of.to}`
  if (!('selection' in of)) return Object.entries(of)[0]!.join(':')
  const { from, to, ...filter } = of.selection
  return [
    `selection:${from}-${to}`,
    ...Object.entries(filter).map(([name, value]) => `${name}:${value}`),
  ].join(',')
}

/** Formats the report. Keep the format stable, because scripts parse it. */
export function formatReport(report: BundleReport | Failure): string {
  if ('code' in report) {
    const seq = report.seq === null ? '' : ` seq=${report.seq}`
    return `BUNDLE_FAILED${seq} code=${report.code} reason=${quoted(report.reason)}`
  }
  const { ledger, of, completeness, entries, records, keys, noteKey, checkpoint, covered, treeSize } = report
  const parts = [
    `ledger=${ledger}`,
    `of=${nameOf(of)}`,
    `completeness=${completeness}`,
    `entries=${entries}`,
    `keys=${keys}`,
    `note-key=${noteKey}`,
    `checkpoint=${checkpoint}`,
    `covered=${covered} of ${treeSize}`,
  ]
  if (report.ofEntries !== null) parts.push(`selected="${entries} of ${report.ofEntries}"`)
  if (records !== null) parts.push(`records=${records}`)
  if (report.agentSigned > 0) parts.push(`agent-signed=${report.agentSigned}`)
  if (report.statements > 0) parts.push(`statements=${report.statements}`)
  if (report.erased > 0) parts.push(`erased=${report.erased}`)
  if (report.cosigned !== null) parts.push(`cosigned=${report.cosigned}`)
  if (report.unknownCosignatures) parts.push(`unknown-cosignatures=${report.unknownCosignatures}`)
  if (report.documents === 'withheld') parts.push('documents=withheld')
  return `BUNDLE_OK ${parts.join(' ')}`
}
