import { readFile } from 'node:fs/promises'
import { SourceError } from './source.ts'

/**
 * Reads the checkpoint notes of a file. Throws SourceError if the file has no note, so that a wrong file never counts
 * as a stored checkpoint.
 *
 * The file may be:
 *
 * - one note as text;
 * - lines `{"checkpoint":"<note>"}`, as at the end of an export;
 * - a bundle, which has the note in its first line.
 */
export async function readCheckpointFile(path: string): Promise<string[]> {
  const text = await readNotes(path)
  if (!text.startsWith('{') && text.includes('\n\n— ')) return [text]
  const notes = lineNotes(text)
  if (notes.length === 0) throw new SourceError('not_a_ledger', `${path} has no checkpoint note`)
  return notes
}

/** Reads the file. Throws SourceError with the file system's error as its cause. */
export async function readNotes(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SourceError('io', `the checkpoint file ${path} cannot be read (${code})`, { cause: error })
  }
}

/** Returns the notes in lines of an export or bundle. Other lines are ignored, so the whole file may be passed. */
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
