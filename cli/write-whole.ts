import { rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeDirectory } from '../sdk/node/make-directory.ts'
import { SourceError } from '../src/verify/source.ts'

/**
 * Written beside and renamed: a crash leaves the old file, and nobody ever sees half of one. `isPrivate`: for this user
 * alone, in a folder that is made where it is missing. Throws SourceError.
 */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  { isPrivate = false } = {},
): Promise<void> {
  const part = `${path}.${process.pid}`
  try {
    if (isPrivate) makeDirectory(dirname(path))
    await writeFile(part, content, { flag: 'wx', mode: isPrivate ? 0o600 : 0o666, flush: true })
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw new SourceError('io', `${path} cannot be written (${(error as NodeJS.ErrnoException).code})`)
  }
}
