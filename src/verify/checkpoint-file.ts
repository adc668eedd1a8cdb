import { readFile } from 'node:fs/promises'
import { SourceError } from './source.ts'

/**
 * Reads the checkpoint notes of a file. Throws SourceError if there is none, so that a wrong file never counts as a
 * stored checkpoint.
 *
 * The file may be:
 *
 * - one note as text;
 * - lines `{"checkpoint":"<note>"}`, as at the end of an export;
 * - a bundle, with the note in its first line.
 */
export async function readCheckpointFile(path: string): Promise<string[]> {
  const text = await readNotes(path)
  if (!text.startsWith('{') && text.includes('\n\n— ')) return [text]
  const notes = lineNotes(text)
  if (notes.length === 0) throw new SourceError('not_a_ledger', `${path} has no checkpoint note`)
  return notes
}

/** Throws SourceError, whose cause is the file system's error. */
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
