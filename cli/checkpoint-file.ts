import { readFile } from 'node:fs/promises'
import { SourceError } from '../src/verify/source.ts'

/**
 * The checkpoint notes of a file: one note as text, or lines `{"checkpoint":"<note>"}`, which is what an export ends
 * with. Throws SourceError where there is none, so that a mistaken file never counts as a kept checkpoint.
 */
export async function readCheckpointFile(path: string): Promise<string[]> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new SourceError(
      'io',
      `the checkpoint file ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`,
    )
  }
  if (!text.startsWith('{')) {
    if (text.includes('\n\n— ')) return [text]
    throw noNote(path)
  }
  const notes = text
    .split('\n')
    .filter((line) => line !== '')
    .flatMap(noteOfLine)
  if (notes.length === 0) throw noNote(path)
  return notes
}

/** Lines of an export that are no checkpoint are passed over: a whole export may be given. */
function noteOfLine(line: string): string[] {
  try {
    const note = (JSON.parse(line) as { checkpoint?: unknown }).checkpoint
    return typeof note === 'string' ? [note] : []
  } catch {
    return []
  }
}

function noNote(path: string): SourceError {
  return new SourceError('not_a_ledger', `${path} holds no checkpoint note`)
}
