import { open } from 'node:fs/promises'
import { SourceError } from '../src/verify/source.ts'

/**
 * Reads a file. Throws SourceError if other users may read or write the file. Checks and reads through one handle, so
 * that nobody can replace the file after the check.
 */
export async function readPrivate(file: string): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const { mode, uid } = await handle.stat()
    const self = process.getuid?.()
    if (self !== undefined && ((mode & 0o077) !== 0 || uid !== self))
      throw new SourceError(
        'denied',
        `${file} must belong to this user and be closed to others: chmod 600 it, or remove it`,
      )
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}
