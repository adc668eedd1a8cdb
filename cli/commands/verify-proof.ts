import type { CompromisedKeys } from '../../src/proof/ledger/compromised-keys.ts'
import { PROOF_BYTES_MAX, RECORD_BYTES_MAX } from '../../src/proof/limits.ts'
import { parseVerifierKey } from '../../src/proof/tree/checkpoint.ts'
import type { WitnessPolicy } from '../../src/proof/tree/cosignature.ts'
import { readCheckpointFile } from '../../src/verify/checkpoint-file.ts'
import { applyStrictToProof, checkProof, formatProofReport } from '../../src/verify/proof.ts'
import { loadProviders } from '../../src/verify/providers.ts'
import { readBytes } from '../../src/verify/read-text.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { jsonLine, textLine } from '../output.ts'
import { UsageError } from '../run.ts'

type ProofValues = {
  readonly proof: string
  readonly record?: string | undefined
  readonly consistency?: string | undefined
  readonly checkpoint?: readonly string[] | undefined
  readonly 'note-key'?: string | undefined
  readonly strict?: boolean | undefined
  readonly json?: boolean | undefined
}

/** Runs `tallystick verify --proof`: verifies one entry, and optionally its record. */
export async function verifyProofCommand(
  values: ProofValues,
  {
    kids,
    compromised,
    witnesses,
  }: {
    readonly kids: readonly string[]
    readonly compromised: CompromisedKeys
    readonly witnesses: WitnessPolicy | undefined
  },
  io: Io,
): Promise<ExitCode> {
  const { checkpoint = [], consistency, record } = values
  if (consistency !== undefined && checkpoint.length === 0)
    throw new UsageError('--consistency needs a checkpoint that you stored: add --checkpoint FILE')
  const noteKey = await parseNoteKey(values['note-key'])
  const found = await checkProof({
    proof: await readBytes(values.proof, PROOF_BYTES_MAX),
    record: record === undefined ? null : await readBytes(record, RECORD_BYTES_MAX),
    consistency: consistency === undefined ? null : await readBytes(consistency, PROOF_BYTES_MAX),
    storedCheckpoints: (await Promise.all(checkpoint.map(readCheckpointFile))).flat(),
    kids,
    noteKey,
    compromised,
    witnesses,
  })
  const report = values.strict ? applyStrictToProof(found, witnesses) : found
  for (const notice of report.notices) io.stderr.write(`tallystick: ${notice}\n`)
  io.stdout.write(values.json ? jsonLine(report, io.stdout) : textLine(formatProofReport(report), io.stdout))
  return report.ok ? EXIT.ok : EXIT.refused
}

export async function parseNoteKey(text: string | undefined): Promise<string | null> {
  if (text === undefined) return null
  try {
    parseVerifierKey(text, (await loadProviders()).sha256)
    return text
  } catch {
    throw new UsageError(
      '--note-key takes the verifier key of a ledger, which is noteVerifierKey of GET /v1/ledger',
    )
  }
}
