import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SourceError } from '../src/verify/source.ts'
import { environment } from './environment.ts'
import { writeFileWhole } from './output-file.ts'

/** The pinned ledgers. Maps a ledger's id to the kid (hex) that signed the ledger's first entry. */
type KnownLedgers = Map<string, string>

function knownLedgersFile(): string {
  return join(environment.configDirectory(), 'known-ledgers.json')
}

/**
 * Returns the pinned ledgers; empty if no ledger is pinned. Throws SourceError if the file is unreadable or damaged,
 * because the user's trust is based on it.
 */
export async function readKnownLedgers(): Promise<KnownLedgers> {
  const path = knownLedgersFile()
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return new Map()
    throw new SourceError('io', `${path} cannot be read (${code})`)
  }
  const known = parseKnownLedgers(text)
  if (!known) throw new SourceError('io', `${path} is damaged: repair it, or remove it to start again`)
  return known
}

function parseKnownLedgers(text: string): KnownLedgers | null {
  try {
    const entries = Object.entries((JSON.parse(text) as { ledgers: Record<string, unknown> }).ledgers)
    return entries.every(([, kid]) => typeof kid === 'string') ? new Map(entries as [string, string][]) : null
  } catch {
    return null
  }
}

export async function pinLedger(ledger: string, kid: string): Promise<void> {
  const known = await readKnownLedgers()
  if (known.get(ledger) === kid) return
  known.set(ledger, kid)
  const text = `${JSON.stringify({ ledgers: Object.fromEntries(known) }, null, 2)}\n`
  await writeFileWhole(knownLedgersFile(), text, { isPrivate: true })
}
