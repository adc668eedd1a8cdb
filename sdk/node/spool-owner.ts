import { constants } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { SpoolError } from '../errors.ts'
import type { SpoolOwner } from '../notarizer/spool.ts'
import { NO_FOLLOW, replaceFile } from './files.ts'

/**
 * Claims the directory for its first sender. Throws SpoolError for any other sender. Idempotency keys belong to an
 * agent. So after a lost answer, another agent would record the batch a second time under its own name.
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

/** Returns the owner; null: no sender has claimed this spool so far. */
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
