import { open } from 'node:fs/promises'
import { type EntryLine, type PublishedKey, verify } from '@tallystick/sdk'

const VERDICTS: readonly string[] = ['verdict-rendered', 'verdict-overturned']

/**
 * Returns the seq of the last verdict on a record in a verified export, or null if the record has no verdict. The
 * export is searched instead of the server, because the server could name an earlier verdict.
 */
export async function findVerdict(copy: string, record: string): Promise<number | null> {
  const file = await open(copy)
  let keys: readonly PublishedKey[] = []
  let seq: number | null = null
  for await (const text of file.readLines()) {
    const line = JSON.parse(text) as Partial<EntryLine> & { keys?: PublishedKey[] }
    // Entries of compromised keys are accepted here. The verification of the export has already checked them against
    // the stored checkpoints.
    if (line.keys) keys = line.keys.map((key) => ({ ...key, compromisedAt: null }))
    if (line.envelope === undefined || !VERDICTS.includes(line.kind!)) continue
    const { subjects } = await verify.envelope(line.envelope, { keys })
    if (subjects.some(({ name }) => name === record)) seq = line.seq!
  }
  return seq
}
