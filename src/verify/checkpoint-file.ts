import { readFile } from 'node:fs/promises'
import { SourceError } from './source.ts'

/**
 * The checkpoint notes of a file: one note as text; lines `{"checkpoint":"<note>"}`, which is what an export ends with; or that of
 * a bundle, in its first line. Throws SourceError where there is none, so that a mistaken file never counts as a kept checkpoint.
 */
export async function readCheckpointFile(path: string): Promise<string[]> {
  const text = await readNotes(path)
  if (!text.startsWith('{') && text.includes('\n\n— ')) return [text]
  const notes = lineNotes(text)
  if (notes.length === 0) throw new SourceError('not_a_ledger', `${path} holds no checkpoint note`)
  return notes
}

/** Throws SourceError, whose cause is the fault of the file system. */
export async function readNotes(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SourceError('io', `the checkpoint file ${path} cannot be read (${code})`, { cause: error })
  }
}

/** Lines of an export or a bundle that hold no checkpoint are passed over: the whole file may be given. */
export function lineNotes(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{"checkpoint":') && !line.startsWith('{"bundle":')) return []
    try {
      const { checkpoint } = JSON.parse(line) as { checkpoint: unknown }
      return typeof checkpoint === 'string' ? [checkpoint] : []
    } catch {
      return []
    }
  })
}
