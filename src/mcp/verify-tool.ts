import { z } from 'zod'
import type { CallOptions } from '../../sdk/http/transport.ts'
import { VerificationError } from '../../sdk/verify/errors.ts'
import { type ProofReport, proof as verifyProof } from '../../sdk/verify/proof.ts'
import type { McpDeps } from './deps.ts'
import { json, recordId } from './schemas.ts'
import { defineTool, READS } from './tool.ts'

export const verifyRecord = defineTool({
  name: 'verify_record',
  title: 'Verify a record',
  description:
    'Verifies a record: fetches its proof and checks the signature, the position in the ledger’s Merkle tree, the checkpoint, and that the ' +
    'record shows what was signed. For a gated record it also checks the newest step. `verified: false` means that something differs from what was signed: report it with ' +
    '`code` and `reason`. `summary` says what the result relies on.',
  scopes: ['records:read', 'records:read:own'],
  hints: READS,
  input: z.object({ record: recordId }),
  output: z.looseObject({
    verified: z.boolean(),
    summary: z.string().describe('for people: what was checked, by whom, and what the result relies on'),
    record: z.string(),
    reports: z.array(json).describe('one report for each verified entry, up to the first failure'),
    code: z
      .string()
      .nullable()
      .describe('what is wrong, as a code for programs (docs/formats); null: verified'),
    reason: z.string().nullable(),
  }),
  async run(deps, { record: id }, { signal }) {
    const record = await deps.client.records.get(id, { signal })
    const reports: ProofReport[] = []
    try {
      reports.push(await proved(deps, record, undefined, { signal }))
      // The first entry of a record proves only its creation. The outcome of a gated record is in its newest step, so
      // the entry of this step is proved too.
      if (record.version > 1) reports.push(await proved(deps, record, record.entry.seq, { signal }))
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      const { code, detail } = error
      return {
        verified: false,
        summary: `NOT VERIFIED: ${code}: ${detail}`,
        record: id,
        reports,
        code,
        reason: detail,
      }
    }
    return {
      verified: true,
      summary: summaryOf(reports, deps),
      record: id,
      reports,
      code: null,
      reason: null,
    }
  },
})

async function proved(
  { client, trust }: McpDeps,
  record: { readonly id: string },
  seq: number | undefined,
  options: CallOptions,
): Promise<ProofReport> {
  return verifyProof(await client.records.proof(record.id, { seq }, options), { ...trust, record })
}

/**
 * Returns a summary for people. The summary lists what was not verified independently, such as a key taken from the
 * proof.
 */
function summaryOf(reports: readonly ProofReport[], { verifier }: McpDeps): string {
  const [first] = reports as [ProofReport]
  const entries = reports.map(({ seq, kind, signedBy }) => `${seq} (${kind}, signed by the ${signedBy})`)
  const own = [
    ...(first.keys === 'given' ? [] : ['the key is taken from the proof']),
    ...(first.noteKey === 'given' ? [] : ['the checkpoint’s key is taken from the proof']),
    'the checkpoint is the newest of the server',
    ...(verifier === 'the server' ? ['the server checked its own data'] : []),
  ]
  return `VERIFIED by ${verifier}: entries ${entries.join(' and ')} of ${first.ledger}, covered by a checkpoint of ${first.covered} entries. It relies on this: ${own.join('; ')}.`
}
