import { constants } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { SpoolError } from '../errors.ts'
import type { SpoolOwner } from '../notarizer/spool.ts'
import { NO_FOLLOW, replaceFile } from './files.ts'

/**
 * Stores the first sender as owner of the directory. Throws SpoolError for any other sender. Each idempotency key
 * belongs to one agent. If another agent repeated a batch after a lost answer, the batch would be recorded a second
 * time.
 */
export async function claimSpool(directory: string, path: string, claimed: SpoolOwner): Promise<void> {
  const { ledger, agent } = claimed
  const owner = await readOwner(path)
  if (owner === null) return replaceFile(path, `${JSON.stringify({ ledger, agent })}\n`)
  if (owner.ledger !== ledger || owner.agent !== agent)
    throw new SpoolError(
      `the spool ${directory} has records of the agent ${owner.agent} of the ledger ${owner.ledger}, but the key belongs to ${agent} of ${ledger}: nothing is sent. What to do: use a key of ${owner.agent}, or another directory`,
    )
}

/** Returns the spool's owner, or null if no sender has claimed the spool. */
async function readOwner(path: string): Promise<SpoolOwner | null> {
  let text: string
  try {
    text = await readFile(path, { encoding: 'utf8', flag: constants.O_RDONLY | NO_FOLLOW })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const owner = parseOwner(text)
  if (owner !== null) return owner
  throw new SpoolError(
    `${path} does not name the agent whose records are in the spool. What to do: remove that file if they are those of the key's agent`,
  )
}

function parseOwner(text: string): SpoolOwner | null {
  try {
    const { ledger, agent } = JSON.parse(text) as Partial<SpoolOwner>
    return typeof ledger === 'string' && typeof agent === 'string' ? { ledger, agent } : null
  } catch {
    return null
  }
}
