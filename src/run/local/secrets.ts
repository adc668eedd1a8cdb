import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeOperatorKey } from '../../ledgers/api-keys.ts'

type LocalSecrets = { readonly masterKey: Uint8Array; readonly operatorKey: string }

/**
 * Returns the keys from the environment. Keys that are not set there come from the data folder, where the first start
 * creates them with mode 0600.
 */
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
    throw new Error(`${file} does not contain 64 hex digits: restore it from a backup`)
  }
  return Buffer.from(text, 'hex')
}

/** Reads a secret from a file. If the file is missing, creates it atomically with the result of `make`. */
export function getOrMakeSecret(file: string, make: () => string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  try {
    writeSecretOnce(file, `${make()}\n`)
  } catch (error) {
    // Another process made the file at the same time. That process's secret is used.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readFileSync(file, 'utf8').trim()
}

/** Writes a file atomically, readable by its owner only. Throws EEXIST if the file exists. */
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
