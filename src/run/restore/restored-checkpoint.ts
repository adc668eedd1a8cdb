import type { RestoredCheckpoint } from '../../db/ledgers/restoring.ts'
import { COSIGNATURE_LINE_CHARS_MAX } from '../../db/limits.ts'
import { equalBytes, utf8Encode } from '../../proof/bytes.ts'
import type { PublicKey } from '../../proof/crypto.ts'
import { toBeSigned } from '../../proof/envelope/cose.ts'
import { keyThumbprint } from '../../proof/keys.ts'
import { encodeTreeHeader, findTreeHead } from '../../proof/receipt/tree-head.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { makeNoteKey, type NoteSignature, signatureLine } from '../../proof/tree/note.ts'
import { nativeProviders } from '../../signing/native.ts'

const { sha256, verifySignature } = nativeProviders

/**
 * Builds the rows of a verified checkpoint: the ledger's own lines, and the lines of witnesses.
 *
 * Only the note's signature was verified, and whoever can write to the archive can add lines. Of the lines with the
 * ledger's name, only the verified signature and a valid tree head are stored. For each other combination of name and
 * key id, one line is stored if it fits into a row. The row's kid is derived from name and key id, because a line does
 * not contain the witness's kid.
 */
export function restoredCheckpoint(
  note: string,
  { issuer, noteKey }: { readonly issuer: string; readonly noteKey: PublicKey },
): RestoredCheckpoint {
  const { checkpoint, text, signatures } = parseCheckpoint(note)
  const { keyId } = makeNoteKey(checkpoint.origin, 'signature', noteKey, sha256)
  const treeHead = findTreeHead(note, noteKey, sha256)
  const header = encodeTreeHeader({ ...checkpoint, issuer }, keyThumbprint(sha256, noteKey))
  const isTreeHead =
    treeHead !== null && verifySignature(noteKey, toBeSigned(header, checkpoint.root), treeHead)
  const own = new Set<string>()
  const cosignatures = new Map<string, { readonly kid: Uint8Array; readonly line: string }>()
  for (const one of signatures) {
    const line = lineOf(one)
    if (one.name !== checkpoint.origin) {
      const witness = `${one.name} ${Buffer.from(one.keyId).toString('hex')}`
      if (line.length <= COSIGNATURE_LINE_CHARS_MAX && !cosignatures.has(witness))
        cosignatures.set(witness, { kid: sha256(utf8Encode(witness)), line })
    } else if (equalBytes(one.keyId, keyId) || (isTreeHead && equalBytes(one.signature, treeHead)))
      own.add(line)
  }
  return { ...checkpoint, note: `${text}\n${[...own].join('')}`, cosignatures: [...cosignatures.values()] }
}

function lineOf({ name, keyId, signature }: NoteSignature): string {
  return signatureLine(name, keyId, signature)
}
