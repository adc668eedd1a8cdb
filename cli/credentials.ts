import { ownCredentialsFile, readCredentials } from './connection.ts'
import { writeFileWhole } from './output-file.ts'
import { RefusedError } from './run.ts'

/** Content of a credentials file, in the format that `npm start` writes. */
export type Credentials = {
  readonly url: string
  readonly ledger: string
  readonly agent: string
  readonly key: string
}

/**
 * Throws RefusedError if a key of another ledger is stored. Overwriting that key would lose it, because a key is
 * shown only once.
 */
export async function refuseOtherLedger(ledger: string): Promise<void> {
  const file = ownCredentialsFile()
  const stored = await readCredentials(file)
  if (stored && stored.ledger !== ledger)
    throw new RefusedError(
      `${file} has a key of ${stored.ledger ?? 'an unnamed ledger'} at ${stored.url}: --force overwrites it`,
    )
}

/** Writes the credentials. Returns the path of the file. */
export async function writeCredentials(credentials: Credentials): Promise<string> {
  const file = ownCredentialsFile()
  await writeFileWhole(file, `${JSON.stringify(credentials, null, 2)}\n`, { isPrivate: true })
  return file
}
