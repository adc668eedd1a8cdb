import { readFileSync, writeFileSync } from 'node:fs'
import { type PublishedKey, Tallystick } from '@tallystick/sdk'
import { credentials } from '../credentials.ts'

export type Trust = { readonly ledger: string; readonly keys: readonly PublishedKey[] }

/**
 * Returns the trusted ledger and keys from the file. Without the file, trusts the server this first time: compare the
 * kid with a value from another source. After a key rotation, signals are refused until the new key is in the file.
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
