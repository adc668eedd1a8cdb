/*
 * Entry point of the image: node src/run/command.ts COMMAND [ARGUMENTS…]. The process is PID 1 of its container. Only
 * the modules of the given command are loaded.
 */
import { constants } from 'node:os'

import type { Main } from './run-to-end.ts'

type Entry = { readonly summary: string; readonly load: () => Promise<Main> }

export const COMMANDS: Readonly<Record<string, Entry>> = {
  server: { summary: 'serve the API', load: async () => (await import('./server.ts')).main },
  worker: {
    summary: 'publish checkpoints, verify, deliver webhooks',
    load: async () => (await import('./worker.ts')).main,
  },
  migrate: {
    summary: 'bring the database to this version, as its owner',
    load: async () => (await import('./migrate.ts')).main,
  },
  smoke: {
    summary: 'test a running deployment: notarize, then verify the whole ledger',
    load: async () => (await import('./smoke.ts')).main,
  },
  operate: {
    summary: 'act on an alert: faults, dead letters, waiting work',
    load: async () => (await import('./operate.ts')).main,
  },
  'move-ledger': {
    summary: 'move a ledger to another deployment, as owner of both databases',
    load: async () => (await import('./move-ledger.ts')).main,
  },
  'rotate-key': {
    summary: 'make a new envelope key; the worker then moves every ledger to it',
    load: async () => (await import('./rotate-key.ts')).main,
  },
  'rotate-master-key': {
    summary: 'reseal all keys and secrets under a new master key',
    load: async () => (await import('./rotate-master-key.ts')).main,
  },
  'restore-check': {
    summary: 'compare a restored database with the checkpoints stored outside',
    load: async () => (await import('./restore-check.ts')).main,
  },
  'archive-keys': {
    summary: 'write the keys of archived documents into files',
    load: async () => (await import('./archive-keys.ts')).main,
  },
  'restore-archive': {
    summary: 'restore a ledger from its archive into a database',
    load: async () => (await import('./restore-archive.ts')).main,
  },
  'rds-token': {
    summary: 'print a token that RDS accepts as a password',
    load: async () => (await import('./rds-token.ts')).main,
  },
  verify: { summary: 'verify an export, a server or a database', load: () => tallystick('verify') },
  preflight: { summary: 'measure the database', load: () => tallystick('preflight') },
  tallystick: { summary: 'the whole command line: docs/reference/cli.md', load: () => tallystick() },
}

/** Exit code for wrong usage, as in shells. */
const EXIT_USAGE = 2
const STOPS = ['SIGTERM', 'SIGINT'] as const

if (import.meta.main) await main(process.argv.slice(2))

async function main([name, ...args]: readonly string[]): Promise<void> {
  if (name === 'help' || name === '--help') {
    console.log(help())
    return
  }
  // hasOwn is needed, because `constructor` and other inherited names are not commands.
  const entry = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (!entry) {
    console.error(
      `tallystick: ${name === undefined ? 'name a command' : `there is no command ${name}`}\n\n${help()}`,
    )
    process.exitCode = EXIT_USAGE
    return
  }
  for (const signal of STOPS) process.on(signal, () => endUnlessHandled(signal))
  await (await entry.load())(args)
}

function help(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length))
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`)
  return `usage: COMMAND [ARGUMENTS…]\n\n${lines.join('\n')}`
}

/** Runs a command of the command line tool (docs/reference/cli.md). */
async function tallystick(...before: readonly string[]): Promise<Main> {
  const { runAsProcess } = await import('../../cli/process.ts')
  return (args) => runAsProcess([...before, ...args])
}

/**
 * Ends the process on the signal, unless the command handles the signal. The kernel delivers no signal to PID 1 without
 * a handler. Without this handler, a starting server or a migration could only be killed. A command that adds its own
 * handler later stops by itself.
 */
function endUnlessHandled(signal: (typeof STOPS)[number]): void {
  if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal])
}
