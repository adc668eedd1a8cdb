import { onlyArgument } from './arguments.ts'
import { type Command, defineCommand } from './command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from './connection.ts'
import { EXIT } from './exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from './output.ts'
import { UsageError } from './run.ts'

type Change = {
  readonly name: 'suspend' | 'resume' | 'revoke'
  /** Description of the change: lines for people. */
  readonly does: string
  readonly codeExample: string
  readonly isFinal?: boolean
}

/** A change of a peering's state, which is an entry of the chain. */
export function definePeerChange({ name, does, codeExample, isFinal = false }: Change): Command {
  const usage = `peers ${name} PEER${isFinal ? ' --yes' : ''}`
  const help = `tallystick ${usage} [--code CODE]

${does} Needs a key with the scope peers:manage.

  --code CODE      why, as a word for programs: signed. Default: requested
${isFinal ? "  --yes            needed, because it can't be undone\n" : ''}${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick peers ${name} peer_01kd2m3n4p5q6r7s8t9v0w1x2y --code ${codeExample}${isFinal ? ' --yes' : ''}
`
  return defineCommand({
    help,
    options: {
      code: { type: 'string' },
      ...(isFinal && { yes: { type: 'boolean' as const } }),
      ...CONNECTION_OPTIONS,
      ...OUTPUT_OPTIONS,
    },
    async run(values, positionals, io) {
      const id = onlyArgument(positionals, usage)
      if (isFinal && !(values as { yes?: boolean }).yes)
        throw new UsageError(`to ${name} ${id} can't be undone: add --yes`)
      const { peers } = await connect(values)
      printItem(await peers[name](id, { code: values.code }), values.json, io.stdout)
      return EXIT.ok
    },
  })
}
