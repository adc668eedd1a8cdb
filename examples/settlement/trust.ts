import { readFileSync, writeFileSync } from 'node:fs'
import { type PublishedKey, Tallystick } from '@tallystick/sdk'
import { credentials } from '../credentials.ts'

export type Trust = { readonly ledger: string; readonly keys: readonly PublishedKey[] }

/**
 * Trusted ledgers and keys, from the file. The server is asked, and believed, only the first time; compare the kid with what
 * you know from elsewhere. When the key is rotated, signals are refused until the new one is in the file as well.
 */
export async function keptTrust(path: string): Promise<Trust> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Trust
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const tallystick = new Tallystick(credentials())
  const [{ id: ledger }, { keys }] = await Promise.all([tallystick.ledger.get(), tallystick.keyDocument()])
  writeFileSync(path, JSON.stringify({ ledger, keys }), { mode: 0o600, flag: 'wx' })
  return { ledger, keys }
}
