import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SourceError } from '../src/verify/source.ts'
import { ownCredentialsFile, readKept } from './connection.ts'
import { RefusedError } from './run.ts'

/** As `npm start` writes them. */
export type Credentials = {
  readonly url: string
  readonly ledger: string
  readonly agent: string
  readonly key: string
}

/** A key is shown once: that of another ledger, written over, would be gone. */
export async function refuseOtherLedger(ledger: string): Promise<void> {
  const file = ownCredentialsFile()
  const kept = await readKept(file)
  if (kept && kept.ledger !== ledger)
    throw new RefusedError(
      `${file} holds a key of ${kept.ledger ?? 'a ledger that it does not name'} at ${kept.url}: --force writes over it`,
    )
}

/** Written beside and renamed, for this user alone: a crash leaves the old file, and nobody ever sees half of one. */
export async function keepCredentials(credentials: Credentials): Promise<string> {
  const file = ownCredentialsFile()
  const part = `${file}.${process.pid}`
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const handle = await open(part, 'wx', 0o600)
    try {
      await handle.writeFile(`${JSON.stringify(credentials, null, 2)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(part, file)
  } catch (error) {
    await rm(part, { force: true })
    throw new SourceError('io', `${file} cannot be written (${(error as NodeJS.ErrnoException).code})`)
  }
  return file
}
