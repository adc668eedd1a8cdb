import { parseChoice, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { optionObject, parseObject, readObject } from '../json-input.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { parseType, RECORD_HELP, RECORD_OPTIONS, recordMembers } from '../record-options.ts'
import { UsageError } from '../run.ts'
import { parseShare } from '../share-option.ts'

const TYPE_DEFAULT = 'task/1'
const GATES = ['principal', 'auto'] as const

const HELP = `tallystick create [FILE | -] [--payload JSON] [--type TYPE] [--performer AGENT]

Commissions work: a record of a gated type. Its terms are signed, and never change. Without a file and --payload the
payload is read from standard input.

  --payload JSON         what is to be done, instead of a file
  --type TYPE            name/version of a gated type (default ${TYPE_DEFAULT}, which allows any objects)
  --performer AGENT      who is to do it: agt_…, or led_…/agt_… of a peer's ledger that the record is shared with.
                         Default: the agent that activates it
  --share PEER           share the record with this peer; PEER:digests: without its documents. Repeatable
  --gate GATE            who judges: principal (default), or auto: only the type's rules
  --deadline TIME        for the completion: RFC 3339, UTC
  --max-revisions N      how many revisions can be requested (default 3)
  --tolerances JSON      tolerances by rule, instead of the type's and within its limits
${RECORD_HELP}
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick create --payload '{"what":"translate the contract"}' --performer agt_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick create order.json --type delivery/1 --gate auto --deadline 2026-12-01T12:00:00Z
`

export const create = defineCommand({
  help: HELP,
  options: {
    performer: { type: 'string' },
    share: { type: 'string', multiple: true },
    gate: { type: 'string' },
    deadline: { type: 'string' },
    'max-revisions': { type: 'string' },
    tolerances: { type: 'string' },
    ...RECORD_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, [file, ...more], io) {
    if (more.length > 0 || (file !== undefined && values.payload !== undefined))
      throw new UsageError('create needs the payload: name one FILE, or give --payload JSON')
    const { gate } = values
    const type = parseType(values.type ?? TYPE_DEFAULT)
    const terms = {
      performer: values.performer,
      share: values.share && parseShare(values.share, '--share'),
      gate: gate === undefined ? undefined : parseChoice(gate, GATES, '--gate'),
      deadline: values.deadline,
      maxRevisions: parseCount(values['max-revisions'], '--max-revisions', { min: 0 }),
      tolerances: optionObject(values.tolerances, '--tolerances'),
    }
    const members = recordMembers(values)
    const payload =
      values.payload === undefined
        ? await readObject(file ?? '-', io)
        : parseObject(values.payload, '--payload')
    const client = await connect(values)
    const record = await client.records.create(
      { type, payload, ...terms, ...members },
      { idempotencyKey: values['idempotency-key'] },
    )
    printItem(record, values.json, io.stdout)
    return EXIT.ok
  },
})
