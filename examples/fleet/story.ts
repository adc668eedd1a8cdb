import type { LedgerRecord } from '@tallystick/sdk'

export function say(who: string, what: string, record?: string): void {
  console.log(`${who.padEnd(11)}${what}${record === undefined ? '' : ` (${record})`}`)
}

/** Prints the verdict that the payer waits for. */
export function sayVerdict(who: string, { state, gated }: LedgerRecord): void {
  const { signal } = (gated!.overturn ?? gated!.verdict)!
  const failing = signal.failingRules.length === 0 ? '' : `; failing: ${signal.failingRules.join(', ')}`
  say(who, `${state}: ${signal.decision}, ${signal.code}${failing}`)
}
