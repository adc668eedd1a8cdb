import { open } from 'node:fs/promises'
import { type EntryLine, type PublishedKey, verify } from '@tallystick/sdk'

const VERDICTS: readonly string[] = ['verdict-rendered', 'verdict-overturned']

/**
 * Where the last verdict over a record is in an export that was verified; null: nowhere. The server is not asked: it could answer an
 * earlier one.
 */
export async function findVerdict(copy: string, record: string): Promise<number | null> {
  const file = await open(copy)
  let keys: readonly PublishedKey[] = []
  let seq: number | null = null
  for await (const text of file.readLines()) {
    const line = JSON.parse(text) as Partial<EntryLine> & { keys?: PublishedKey[] }
    // Entries under a compromised key were held to the kept checkpoints when the export was verified.
    if (line.keys) keys = line.keys.map((key) => ({ ...key, compromisedAt: null }))
    if (line.envelope === undefined || !VERDICTS.includes(line.kind!)) continue
    const { subjects } = await verify.envelope(line.envelope, { keys })
    if (subjects.some(({ name }) => name === record)) seq = line.seq!
  }
  return seq
}
