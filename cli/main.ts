import { API_VERSION } from '../sdk/generated/operations.ts'
import { COMMANDS, findCommand } from './commands.ts'
import { EXIT, type ExitCode, HELP_EXIT_CODES } from './exit-codes.ts'
import type { Io } from './io.ts'
import { run, UsageError } from './run.ts'

export async function main(args: readonly string[], io: Io): Promise<ExitCode> {
  const [name] = args
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    io.stdout.write(help())
    return name === undefined ? EXIT.usage : EXIT.ok
  }
  if (name === '--version' || name === '-V') {
    io.stdout.write(`tallystick ${API_VERSION}\n`)
    return EXIT.ok
  }
  return run(async () => {
    const found = findCommand(args)
    if (!found) throw new UsageError(unknown(args))
    return (await found.entry.load()).run(found.rest, io)
  }, io.stderr)
}

function help(): string {
  const names = Object.keys(COMMANDS)
  const width = Math.max(...names.map((each) => each.length))
  const lines = Object.entries(COMMANDS).map(([each, { summary }]) => `  ${each.padEnd(width)}  ${summary}`)
  return `tallystick: accountability for AI agents. Notarize, do gated work, verify

${lines.join('\n')}

\`tallystick COMMAND --help\` explains a command, with examples. Full reference: docs/reference/cli.md

${HELP_EXIT_CODES}`
}

/** Describes an unknown command. Lists the commands of its group, or all commands. */
function unknown([first = '']: readonly string[]): string {
  const names = Object.keys(COMMANDS)
  const group = names.filter((each) => each.startsWith(`${first} `))
  if (group.length > 0) return `${first} needs one of: ${group.map((each) => each.split(' ')[1]).join(', ')}`
  return `there is no command \`tallystick ${first}\`. Commands: ${names.join(', ')}`
}
