import type { Tallystick } from '../../sdk/client.ts'
import { parseChoice, parseCount } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const DOCUMENTS = ['payload', 'evidence', 'values', 'reason'] as const
const USAGE = 'erase RECORD payload|evidence|values|reason --code CODE --yes'

const HELP = `tallystick ${USAGE}

Erases a document of a record, with its salt: nobody can restore it. The chain still has its digest, and states when,
by whom and why it was erased, so that the ledger verifies as before (docs/guides/erasure-and-retention.md). The answer
lists what else of the record could contain the same data.

  --code CODE            the reason, as a word for programs (a-z, 0-9, _): signed, and never erased
  --reason TEXT          the reason, for people
  --completion ID        the completion whose evidence or compared values are erased (cmp_…)
  --seq N                the entry whose reason is erased
  --idempotency-key KEY  repeating the command with the same key writes nothing twice. Default: a new key
  --yes                  needed, because it can't be undone
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick erase rec_01kd2m3n4p5q6r7s8t9v0w1x2y payload --code gdpr_17 --yes
  tallystick erase rec_01kd2m3n4p5q6r7s8t9v0w1x2y evidence --completion cmp_01kd2m3n4p5q6r7s8t9v0w1x2y \\
    --code gdpr_17 --yes
`

const OPTIONS = {
  code: { type: 'string' },
  reason: { type: 'string' },
  completion: { type: 'string' },
  seq: { type: 'string' },
  'idempotency-key': { type: 'string' },
  yes: { type: 'boolean' },
  ...CONNECTION_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const

export const erase = defineCommand({
  help: HELP,
  options: OPTIONS,
  async run(values, [id, document, ...more], io) {
    if (id === undefined || document === undefined || more.length > 0) throw new UsageError(`say: ${USAGE}`)
    const target = parseTarget(parseChoice(document, DOCUMENTS, 'the document to erase'), values)
    const { code, reason } = values
    if (code === undefined)
      throw new UsageError('erase needs --code CODE: the reason as a code (a-z, 0-9, _), such as gdpr_17')
    if (!values.yes) throw new UsageError("erasing can't be undone: add --yes")
    const { records } = await connect(values)
    const request = { code, reason }
    const options = { idempotencyKey: values['idempotency-key'] }
    printItem(await target(records, id, request, options), values.json, io.stdout)
    return EXIT.ok
  },
})

type Records = Tallystick['records']
type Target = (
  records: Records,
  id: string,
  request: { code: string; reason?: string | undefined },
  options: { idempotencyKey?: string | undefined },
) => Promise<object>

/** Returns the call that erases the named document. Throws UsageError if the options do not match the document. */
function parseTarget(
  document: (typeof DOCUMENTS)[number],
  { completion, seq }: ValuesOf<typeof OPTIONS>,
): Target {
  const ofCompletion = document === 'evidence' || document === 'values'
  if (ofCompletion !== (completion !== undefined))
    throw new UsageError(
      ofCompletion
        ? `erase ${document} needs --completion cmp_…: gated.completion.id of the record`
        : `--completion cannot be used with ${document}`,
    )
  if ((document === 'reason') !== (seq !== undefined))
    throw new UsageError(
      document === 'reason'
        ? 'erase reason needs --seq N: the entry whose reason it is'
        : `--seq cannot be used with ${document}`,
    )
  const entry = parseCount(seq, '--seq', { min: 0 })
  switch (document) {
    case 'payload':
      return (records, id, request, options) => records.erasePayload(id, request, options)
    case 'evidence':
      return (records, id, request, options) => records.eraseEvidence(id, completion!, request, options)
    case 'values':
      return (records, id, request, options) => records.eraseValues(id, completion!, request, options)
    case 'reason':
      return (records, id, request, options) => records.eraseReason(id, entry!, request, options)
  }
}
