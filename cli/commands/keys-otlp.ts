import type { OtlpSettings } from '../../sdk/generated/api.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick keys otlp KEY [--take agents|all] [--content digest|keep] [--rest reject|drop]
tallystick keys otlp KEY --default

Sets which spans and logs an API key takes by OTLP, and what of them is kept. An option that is not given is as by default: agents,
digest, reject. Needs a key with the scope keys:manage.

  --take WHICH     agents: what tells what an agent did; all: everything
  --content HOW    digest: prompts, answers, arguments and results by their digests; keep: as they are
  --rest HOW       reject: the exporter is told how many were not taken; drop: it is not
  --default        all as by default
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick keys otlp key_01kd2m3n4p5q6r7s8t9v0w1x2y --rest drop
  tallystick keys otlp key_01kd2m3n4p5q6r7s8t9v0w1x2y --take all --content keep
`

const OPTIONS = {
  take: { type: 'string' },
  content: { type: 'string' },
  rest: { type: 'string' },
  default: { type: 'boolean' },
  ...CONNECTION_OPTIONS,
  ...OUTPUT_OPTIONS,
} as const

export const keysOtlp = defineCommand({
  help: HELP,
  options: OPTIONS,
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'keys otlp KEY')
    const settings = parseSettings(values)
    const client = await connect(values)
    printItem(await client.keys.setOtlp(id, settings), values.json, io.stdout)
    return EXIT.ok
  },
})

/** Throws UsageError. */
function parseSettings({ take, content, rest, default: all }: ValuesOf<typeof OPTIONS>): OtlpSettings | null {
  const given = [take, content, rest].some((value) => value !== undefined)
  if ((all ?? false) === given)
    throw new UsageError('keys otlp takes --take, --content and --rest, or --default')
  if (all) return null
  return {
    take: oneOf('--take', take ?? 'agents', ['agents', 'all']),
    content: oneOf('--content', content ?? 'digest', ['digest', 'keep']),
    rest: oneOf('--rest', rest ?? 'reject', ['reject', 'drop']),
  }
}

function oneOf<Value extends string>(option: string, given: string, values: readonly Value[]): Value {
  const found = values.find((value) => value === given)
  if (found === undefined) throw new UsageError(`${option} takes ${values.join(' or ')}`)
  return found
}
