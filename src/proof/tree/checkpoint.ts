import { toBase64, utf8Encode } from '../bytes.ts'
import { HASH_BYTES, type PublicKey, type Sha256, type Signer, type VerifySignature } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { isKeyName } from '../names.ts'
import {
  decodeBase64,
  formatNoteKey,
  makeNoteKey,
  type Note,
  type NoteKey,
  parseNote,
  parseNoteKey,
  signatureLine,
  signaturesOf,
} from './note.ts'

/*
 * Checkpoints: C2SP tlog-checkpoint in a C2SP signed-note (docs/formats/chain-and-checkpoints.md), with one extension
 * line for the chain hash. The name of the note key is the origin.
 */

/** A checkpoint of any log. `root` has 32 bytes. */
export type LogTree = { readonly origin: string; readonly size: number; readonly root: Uint8Array }

/** A checkpoint of a ledger. `chain` has 32 bytes. */
export type Checkpoint = LogTree & { readonly chain: Uint8Array }

/** Key that verifies a ledger's checkpoints. C2SP calls its text a vkey. */
export type VerifierKey = { readonly origin: string; readonly key: PublicKey }

/** Returns the text to sign, which ends with a newline. */
export function formatCheckpoint(checkpoint: Checkpoint): string {
  const { origin, size, root, chain } = checkpoint
  return `${origin}\n${size}\n${toBase64(root)}\nchain ${toBase64(chain)}\n`
}

/** Returns the signed note. `noteSigner`: an Ed25519 key that is used for nothing else. */
export function signCheckpoint(checkpoint: Checkpoint, noteSigner: Signer, sha256: Sha256): string {
  const text = formatCheckpoint(checkpoint)
  const { keyId } = makeNoteKey(checkpoint.origin, 'signature', noteSigner.key, sha256)
  return `${text}\n${signatureLine(checkpoint.origin, keyId, noteSigner.sign(utf8Encode(text)))}`
}

/**
 * Parses a note without verifying it. Throws `note_syntax` if the text is not a signed note. Throws `checkpoint_syntax`
 * if the note's text is not a checkpoint of a ledger.
 */
export function parseCheckpoint(note: string): Note & { readonly checkpoint: Checkpoint } {
  const { text, signatures } = parseNote(note)
  return { checkpoint: parseText(text), text, signatures }
}

/**
 * Verifies a note and returns its checkpoint. Ignores signatures by other keys, because they belong to witnesses. A
 * signature with the key's own name and id must verify (C2SP signed-note). Throws the codes of parseCheckpoint, then
 * `checkpoint_foreign`, `note_unsigned` or `signature_invalid`.
 */
export function verifyCheckpoint(
  note: string,
  verifierKey: VerifierKey,
  sha256: Sha256,
  verifySignature: VerifySignature,
): Checkpoint {
  const parsed = parseCheckpoint(note)
  const { origin, key } = verifierKey
  if (parsed.checkpoint.origin !== origin) {
    throw new ProofError(
      'checkpoint_foreign',
      `the checkpoint belongs to ${parsed.checkpoint.origin}, not to ${origin}`,
    )
  }
  verifyLogSignature(parsed, [makeNoteKey(origin, 'signature', key, sha256)], verifySignature)
  return parsed.checkpoint
}

/**
 * Throws `note_unsigned` if none of `keys` signed the note. Throws `signature_invalid` if a signature by one of
 * `keys` does not verify.
 */
export function verifyLogSignature(
  { text, signatures }: Note,
  keys: readonly NoteKey[],
  verifySignature: VerifySignature,
): void {
  const message = utf8Encode(text)
  const own = keys.flatMap(({ key, ...names }) =>
    signaturesOf(signatures, names).map(({ signature }) => ({ key, name: names.name, signature })),
  )
  if (own.length === 0)
    throw new ProofError(
      'note_unsigned',
      `the checkpoint has no signature of ${keys.map(({ name }) => name).join(', ')}`,
    )
  for (const { key, name, signature } of own) {
    if (!verifySignature(key, message, signature))
      throw new ProofError('signature_invalid', `the note's signature by ${name} does not verify`)
  }
}

/** Returns the vkey `<origin>+<key id>+<base64 of 0x01 ‖ key>`. `rawPublicKey`: 32 bytes. */
export function formatVerifierKey(origin: string, rawPublicKey: Uint8Array, sha256: Sha256): string {
  return formatNoteKey(origin, 'signature', rawPublicKey, sha256)
}

/** Parses a vkey. Throws `verifier_key`. */
export function parseVerifierKey(text: string, sha256: Sha256): VerifierKey {
  const { name, key } = parseNoteKey(text, 'signature', sha256)
  return { origin: name, key }
}

const SIZE = /^(0|[1-9][0-9]*)$/

/** Parses the text of any C2SP checkpoint, which may end with extension lines. Throws `checkpoint_syntax`. */
export function parseLogTree(text: string): LogTree & { readonly extensions: readonly string[] } {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n')
  const extensions = rest.slice(0, -1)
  const isTree = origin !== '' && rest.length > 0 && !extensions.includes('') && SIZE.test(size)
  if (!isTree || !Number.isSafeInteger(Number(size)))
    throw new ProofError('checkpoint_syntax', 'a checkpoint must have the lines origin, size and root')
  return { origin, size: Number(size), root: parseHash(root), extensions }
}

function parseText(text: string): Checkpoint {
  const { origin, size, root, extensions } = parseLogTree(text)
  const [chain = ''] = extensions
  if (extensions.length !== 1 || !isKeyName(origin) || !chain.startsWith('chain '))
    throw new ProofError(
      'checkpoint_syntax',
      'a checkpoint must have exactly the lines origin, size, root and chain',
    )
  return { origin, size, root, chain: parseHash(chain.slice('chain '.length)) }
}

function parseHash(text: string): Uint8Array {
  const hash = decodeBase64(text, 'checkpoint_syntax')
  if (hash.length !== HASH_BYTES)
    throw new ProofError('checkpoint_syntax', `a hash has ${hash.length} bytes, not ${HASH_BYTES}`)
  return hash
}
