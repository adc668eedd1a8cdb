#!/usr/bin/env node
import { EXIT, type ExitCode, HELP_EXIT_CODES } from './exit-codes.ts'
import { run } from './run.ts'

type Command = (args: readonly string[]) => Promise<ExitCode>

/** Loaded when it is called: a command brings what it needs, and help needs nothing. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  verify: async () => (await import('./commands/verify.ts')).verifyCommand,
  export: async () => (await import('./commands/export.ts')).exportCommand,
  checkpoints: async () => (await import('./commands/checkpoints.ts')).checkpointsCommand,
}

const HELP = `tallystick: verify, export and inspect a Tallystick ledger

  tallystick verify FILE|-|--server URL|--database URL   check a whole ledger offline
  tallystick verify --proof FILE [--record FILE]         check one entry or record offline
  tallystick export --server URL [-o FILE]               save a ledger as NDJSON
  tallystick checkpoints watch FILE --server URL         keep a ledger's checkpoints outside of it

\`tallystick COMMAND --help\` explains a command. Full reference: docs/cli.md

${HELP_EXIT_CODES}`

const [name, ...args] = process.argv.slice(2)

if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
  process.stdout.write(HELP)
  process.exitCode = name === undefined ? EXIT.usage : EXIT.ok
} else if (Object.hasOwn(COMMANDS, name)) {
  process.exitCode = await run(async () => (await COMMANDS[name]!())(args))
} else {
  const known = Object.keys(COMMANDS).join(', ')
  process.stderr.write(`tallystick: there is no command ${JSON.stringify(name)}. Commands: ${known}\n`)
  process.exitCode = EXIT.usage
}
