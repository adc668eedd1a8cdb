import type { Command } from './command.ts'

type Entry = {
  /** A line of `tallystick --help`. */
  readonly summary: string
  /** Loaded when it is called: a command brings what it needs, and help needs nothing. */
  readonly load: () => Promise<Command>
}

/** Every command, by its whole name, in the order of `tallystick --help`. */
export const COMMANDS: Readonly<Record<string, Entry>> = {
  get: {
    summary: 'a record',
    load: async () => (await import('./commands/get.ts')).get,
  },
  verify: {
    summary: 'check a whole ledger, one entry or one record, offline',
    load: async () => (await import('./commands/verify.ts')).verify,
  },
  export: {
    summary: 'save a ledger as NDJSON',
    load: async () => (await import('./commands/export.ts')).exportLedger,
  },
  'checkpoints watch': {
    summary: "keep a ledger's checkpoints outside of it",
    load: async () => (await import('./commands/checkpoints-watch.ts')).checkpointsWatch,
  },
}

export type Found = { readonly name: string; readonly entry: Entry; readonly rest: readonly string[] }

/** The command that the arguments begin with; null where there is none of that name. */
export function findCommand([first = '', second = '', ...others]: readonly string[]): Found | null {
  const both = `${first} ${second}`
  if (Object.hasOwn(COMMANDS, both)) return { name: both, entry: COMMANDS[both]!, rest: others }
  if (Object.hasOwn(COMMANDS, first)) {
    const rest = second === '' ? others : [second, ...others]
    return { name: first, entry: COMMANDS[first]!, rest }
  }
  return null
}
