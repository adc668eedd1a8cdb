#!/usr/bin/env node
import { exportCommand } from './commands/export.ts'
import { verifyCommand } from './commands/verify.ts'
import { EXIT, HELP_EXIT_CODES } from './exit-codes.ts'
import { run } from './run.ts'

const COMMANDS = { verify: verifyCommand, export: exportCommand }

const HELP = `tallystick: verify, export and inspect a Tallystick ledger

  tallystick verify FILE|-|--server URL|--database URL   check a whole ledger offline
  tallystick export --server URL [-o FILE]               save a ledger as NDJSON

\`tallystick COMMAND --help\` explains a command. Full reference: docs/cli.md

${HELP_EXIT_CODES}`

const [name, ...args] = process.argv.slice(2)

if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
  process.stdout.write(HELP)
  process.exitCode = name === undefined ? EXIT.usage : EXIT.ok
} else {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name as keyof typeof COMMANDS] : null
  if (command) {
    process.exitCode = await run(() => command(args))
  } else {
    process.stderr.write(
      `tallystick: there is no command ${JSON.stringify(name)}. Commands: ${Object.keys(COMMANDS).join(', ')}\n`,
    )
    process.exitCode = EXIT.usage
  }
}
