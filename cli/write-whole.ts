import { rename, rm, writeFile } from 'node:fs/promises'
import { SourceError } from '../src/verify/source.ts'

/** Writes beside and renames: a file of this name is a whole one. Throws SourceError. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const part = `${path}.part`
  try {
    await writeFile(part, text)
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw new SourceError('io', `${path} cannot be written (${(error as NodeJS.ErrnoException).code})`)
  }
}
