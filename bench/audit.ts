import { spawn } from 'node:child_process'
import { withClient } from '../src/db/connect/client.ts'
import { parseId } from '../src/proof/ids.ts'
import type { Phase } from './phase.ts'
import type { System } from './system.ts'

export type Audit = {
  readonly ledger: string
  readonly acknowledged: number
  /** Sent and never answered: each may or may not have been committed. */
  readonly unanswered: number
  readonly found: number
  readonly entries: number
  /** Last line of `tallystick verify`; null: it was not run. */
  readonly verify: string | null
  readonly ok: boolean
}

/**
 * Every acknowledged record is in the ledger, none twice, and the whole ledger verifies: a rate that was
 * reached by losing something is no rate.
 */
export async function auditLedger(
  ownerUrl: string,
  system: System,
  phases: readonly Phase[],
  items: number,
): Promise<Audit> {
  const acknowledged = phases.reduce((sum, phase) => sum + phase.load.acknowledgedItems, 0)
  const unanswered = phases.reduce((sum, phase) => sum + phase.load.unanswered * items, 0)
  const { entries, found, size } = await count(ownerUrl, system.ledger)
  const verify = await runVerify(system)
  const complete = found >= acknowledged && found <= acknowledged + unanswered && entries === size
  const ok = complete && verify.startsWith('INTEGRITY_OK')
  return { ledger: system.ledger, acknowledged, unanswered, found, entries, verify, ok }
}

async function count(
  ownerUrl: string,
  ledger: string,
): Promise<{ entries: number; found: number; size: number }> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query(
      `select h.size::float8,
        (select count(*)::float8 from tallystick.entries e where e.ledger_id = h.ledger_id) as entries,
        (select count(*)::float8 from tallystick.records r where r.ledger_id = h.ledger_id)
          + (select coalesce(sum(c.count), 0)::float8 from tallystick.batch_chunks c where c.ledger_id = h.ledger_id) as found
       from tallystick.chain_heads h where h.ledger_id = $1`,
      [parseId('led', ledger)],
    )
    return rows[0]
  })
}

/** The same program that anybody would use, on the database, from the first entry to the last. */
export function runVerify(system: Pick<System, 'env' | 'ledger'>): Promise<string> {
  const url = system.env['TALLYSTICK_API_DATABASE_URL']!
  return runTallystick(['verify', '--database', url, '--ledger', system.ledger], /^INTEGRITY_/)
}

/** The line of its output in which the program says what it found. */
export function runTallystick(args: readonly string[], isVerdict: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['cli/tallystick.ts', ...args], {
      cwd: new URL('..', import.meta.url),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const lines: string[] = []
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trim().split('\n')))
    }
    child.once('error', reject)
    child.once('exit', () => {
      const verdict = lines.findLast((line) => isVerdict.test(line))
      resolve(verdict ?? `${args[0]} gave no verdict: ${lines.at(-1) ?? ''}`)
    })
  })
}
