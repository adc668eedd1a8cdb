import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeOperatorKey } from '../../ledgers/api-keys.ts'

type LocalSecrets = { readonly masterKey: Uint8Array; readonly operatorKey: string }

/** From the environment, else from the data folder, where they are made on the first start, 0600. */
export function getLocalSecrets(
  given: { readonly masterKey: Uint8Array | null; readonly operatorKey: string | null },
  dataDir: string,
): LocalSecrets {
  return {
    masterKey: given.masterKey ?? getMasterKey(join(dataDir, 'master-key')),
    operatorKey: given.operatorKey ?? getOrMakeSecret(join(dataDir, 'operator-key'), makeOperatorKey),
  }
}

function getMasterKey(file: string): Uint8Array {
  const text = getOrMakeSecret(file, () => randomBytes(32).toString('hex'))
  if (!/^[0-9a-f]{64}$/i.test(text)) {
    throw new Error(`${file} does not hold 64 hex digits: put it back from a backup`)
  }
  return Buffer.from(text, 'hex')
}

/** The text that the file holds; made on the first call, whole or not at all. */
export function getOrMakeSecret(file: string, make: () => string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  try {
    writeSecretOnce(file, `${make()}\n`)
  } catch (error) {
    // Another first start was faster: its secret is the one.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readFileSync(file, 'utf8').trim()
}

/** Whole or not at all, readable by us only; EEXIST where it is already there. */
export function writeSecretOnce(file: string, text: string): void {
  const temporary = `${file}.new-${process.pid}`
  rmSync(temporary, { force: true })
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true })
    linkSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}
