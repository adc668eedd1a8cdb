import type { SubjectRecord } from '../../sdk/generated/api.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { listItems } from '../resource.ts'
import { UsageError } from '../run.ts'

export const subjectsFind = listItems({
  usage: 'subjects find LABEL',
  flags: '[--limit N]',
  about: `Finds the documents of a person, by the label (\`subject\`) of the person's records. Needs a key with one of the scopes
payloads:erase, records:read.`,
  examples: ['subjects find customer-4711', 'subjects find customer-4711 | jq -r .record'],
  columns: [
    ['RECORD', ({ record }) => record],
    ['DOCUMENTS', ({ documents }) => documents.map(({ document }) => document).join(', ')],
  ] satisfies readonly Column<SubjectRecord>[],
  request: (client, label) => client.subjects.find(label),
})

const ERASE_HELP = `tallystick subjects erase LABEL --code CODE --yes

Erases all documents of a person, by the label (\`subject\`) of the person's records: nobody can restore them. Prints a
receipt for each thousand documents: the entry that lists what was erased, and the documents that stay because of a hold
(docs/guides/erasure-and-retention.md). Needs a key with the scope payloads:erase.

  --code CODE      the reason, as a word for programs (a-z, 0-9, _): signed, and never erased
  --reason TEXT    the reason, for people
  --yes            needed, because it can't be undone
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick subjects erase customer-4711 --code data_subject_request --yes
`

export const subjectsErase = defineCommand({
  help: ERASE_HELP,
  options: {
    code: { type: 'string' },
    reason: { type: 'string' },
    yes: { type: 'boolean' },
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const label = onlyArgument(positionals, 'subjects erase LABEL --code CODE --yes')
    const { code, reason } = values
    if (code === undefined)
      throw new UsageError(
        'subjects erase needs --code CODE: the reason as a code (a-z, 0-9, _), such as gdpr_17',
      )
    if (!values.yes) throw new UsageError("erasing can't be undone: add --yes")
    const { subjects } = await connect(values)
    let held = 0
    for await (const receipt of subjects.erase(label, { code, ...(reason !== undefined && { reason }) })) {
      held += receipt.held.length
      printItem(receipt, values.json, io.stdout)
    }
    if (held > 0) io.stderr.write(`tallystick: ${held} documents are under a hold, and were not erased\n`)
    return EXIT.ok
  },
})
