import { z } from 'zod'
import { parseJsonText } from '../../proof/json/json-text.ts'
import { ARCHIVE_KEY_FILE_DEPTH_MAX } from '../../proof/limits.ts'
import { DocumentKeys } from '../../signing/document-keys.ts'
import { SourceError } from '../source.ts'

/** A key file (docs/formats/archive.md), which contains the secrets of one ledger's pieces. */
const keyFile = z.strictObject({
  archiveKeys: z.literal(1),
  ledger: z.string(),
  /** List of `[from, base64 of the secrets]`. */
  pieces: z.array(z.tuple([z.int().min(0), z.base64()])),
})

export type ArchiveKeys = { readonly ledger: string; readonly pieces: ReadonlyMap<number, DocumentKeys> }

/** Parses a key file. Throws SourceError `usage`. */
export function parseArchiveKeys(text: string, name = 'the file of --archive-key'): ArchiveKeys {
  try {
    const { ledger, pieces } = keyFile.parse(parseJsonText(text, { depthMax: ARCHIVE_KEY_FILE_DEPTH_MAX }))
    return {
      ledger,
      pieces: new Map(
        pieces.map(([from, packed]) => [from, DocumentKeys.unpack(Buffer.from(packed, 'base64'))]),
      ),
    }
  } catch (error) {
    throw new SourceError('usage', `${name} is not a key file of an archive`, { cause: error })
  }
}

/** Formats a key file. `packed` is the result of `DocumentKeys.pack`. */
export function formatArchiveKeys(
  ledger: string,
  pieces: readonly { readonly from: number; readonly packed: Buffer }[],
): string {
  const lines = pieces.map(({ from, packed }) => JSON.stringify([from, packed.toString('base64')]))
  return `{"archiveKeys":1,"ledger":"${ledger}","pieces":[\n${lines.join(',\n')}\n]}\n`
}
