#!/usr/bin/env node
import { COMMANDS, findCommand } from './commands.ts'
import { EXIT, HELP_EXIT_CODES } from './exit-codes.ts'
import { run } from './run.ts'

const args = process.argv.slice(2)
const [name] = args

if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
  process.stdout.write(help())
  process.exitCode = name === undefined ? EXIT.usage : EXIT.ok
} else {
  const found = findCommand(args)
  if (found) {
    process.exitCode = await run(async () => (await found.entry.load()).run(found.rest))
  } else {
    process.stderr.write(`tallystick: ${unknown(name)}\n`)
    process.exitCode = EXIT.usage
  }
}

function help(): string {
  const names = Object.keys(COMMANDS)
  const width = Math.max(...names.map((each) => each.length))
  const lines = Object.entries(COMMANDS).map(([each, { summary }]) => `  ${each.padEnd(width)}  ${summary}`)
  return `tallystick: accountability for AI agents: write down, run gated work, verify

${lines.join('\n')}

\`tallystick COMMAND --help\` explains a command, with examples. Full reference: docs/cli.md

${HELP_EXIT_CODES}`
}

/** What there is instead: the commands of a group, or all. */
function unknown(first: string): string {
  const group = Object.keys(COMMANDS).filter((each) => each.startsWith(`${first} `))
  if (group.length > 0) return `${first} needs one of: ${group.map((each) => each.split(' ')[1]).join(', ')}`
  return `there is no command ${JSON.stringify(first)}. Commands: ${Object.keys(COMMANDS).join(', ')}`
}
