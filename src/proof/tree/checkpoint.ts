import { concat, equalBytes, fromBase64, fromHex, toBase64, toHex, utf8Encode } from '../bytes.ts'
import { HASH_BYTES, type PublicKey, type Sha256, type Signer, type VerifySignature } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { parsePublicKey, spkiOf } from '../keys.ts'

/*
 * Checkpoints: C2SP tlog-checkpoint in a C2SP signed-note (docs/formats/chain-and-checkpoints.md), with one
 * extension line for the chain hash. The name of the note key is the origin.
 */

/** `root`, `chain`: 32 bytes. */
export type Checkpoint = {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  readonly chain: Uint8Array
}

/** `keyId`: the first 4 bytes of the key's hash. */
type NoteSignature = {
  readonly name: string
  readonly keyId: Uint8Array
  readonly signature: Uint8Array
}

/** Key that verifies a ledger's checkpoints: C2SP's vkey. */
export type VerifierKey = { readonly origin: string; readonly key: PublicKey }

export const NOTE_CHARS_MAX = 16_384
const NOTE_SIGNATURES_MAX = 64
const KEY_ID_BYTES = 4
/** signed-note's signature type for Ed25519. */
const ED25519 = 0x01

/** The text that is signed; its last character is a newline. */
export function formatCheckpoint(checkpoint: Checkpoint): string {
  const { origin, size, root, chain } = checkpoint
  return `${origin}\n${size}\n${toBase64(root)}\nchain ${toBase64(chain)}\n`
}

/** The signed note. `noteSigner`: Ed25519; its key is used for nothing else. */
export function signCheckpoint(checkpoint: Checkpoint, noteSigner: Signer, sha256: Sha256): string {
  const text = formatCheckpoint(checkpoint)
  const keyId = keyIdOf(sha256, checkpoint.origin, noteSigner.key.raw)
  const signature = concat([keyId, noteSigner.sign(utf8Encode(text))])
  return `${text}\n\u2014 ${checkpoint.origin} ${toBase64(signature)}\n`
}

/**
 * Reads a note without verifying anything. Throws `note_syntax` for what is no signed note, `checkpoint_syntax` for
 * a note that says something else than a checkpoint of ours.
 */
export function parseCheckpoint(note: string): {
  readonly checkpoint: Checkpoint
  readonly text: string
  readonly signatures: readonly NoteSignature[]
} {
  const { text, signatures } = parseNote(note)
  return { checkpoint: parseText(text), text, signatures }
}

/**
 * The checkpoint that the key signed. Signatures of other keys are ignored (they are witnesses'), but one under the
 * key's own name and id must verify (C2SP signed-note). Throws what parseCheckpoint throws, then `checkpoint_foreign`,
 * `note_unsigned`, `signature_invalid`.
 */
export function verifyCheckpoint(
  note: string,
  verifierKey: VerifierKey,
  sha256: Sha256,
  verifySignature: VerifySignature,
): Checkpoint {
  const { checkpoint, text, signatures } = parseCheckpoint(note)
  const { origin, key } = verifierKey
  if (checkpoint.origin !== origin) {
    throw new ProofError('checkpoint_foreign', `of ${checkpoint.origin}, not of ${origin}`)
  }
  const keyId = keyIdOf(sha256, origin, key.raw)
  const own = signatures.filter((s) => s.name === origin && equalBytes(s.keyId, keyId))
  if (own.length === 0) throw new ProofError('note_unsigned', `no signature of ${origin}+${toHex(keyId)}`)
  const message = utf8Encode(text)
  for (const { signature } of own) {
    if (!verifySignature(key, message, signature)) {
      throw new ProofError('signature_invalid', `the note's signature by ${origin} does not verify`)
    }
  }
  return checkpoint
}

/** `<origin>+<key id>+<base64 of 0x01 ‖ key>`. `rawPublicKey`: 32 bytes. */
export function formatVerifierKey(origin: string, rawPublicKey: Uint8Array, sha256: Sha256): string {
  return `${origin}+${toHex(keyIdOf(sha256, origin, rawPublicKey))}+${toBase64(typed(rawPublicKey))}`
}

/** Throws `verifier_key`. */
export function parseVerifierKey(text: string, sha256: Sha256): VerifierKey {
  const [origin, keyId, encoded, ...rest] = text.split('+')
  if (keyId === undefined || encoded === undefined || !isName(origin!))
    throw badKey('not <origin>+<id>+<key>')
  try {
    const bytes = fromBase64([encoded, ...rest].join('+'))
    if (bytes[0] !== ED25519) throw badKey('not an Ed25519 key')
    const raw = bytes.subarray(1)
    const key = parsePublicKey('EdDSA', spkiOf('EdDSA', raw))
    if (!equalBytes(fromHex(keyId), keyIdOf(sha256, origin!, raw)))
      throw badKey('the key id is not the key’s')
    return { origin: origin!, key }
  } catch (error) {
    throw badKey((error as ProofError).detail)
  }
}

function badKey(detail: string): ProofError {
  return new ProofError('verifier_key', detail)
}

function typed(rawPublicKey: Uint8Array): Uint8Array {
  return concat([new Uint8Array([ED25519]), rawPublicKey])
}

/** SHA-256(name ‖ 0x0A ‖ 0x01 ‖ key), its first 4 bytes. */
function keyIdOf(sha256: Sha256, name: string, rawPublicKey: Uint8Array): Uint8Array {
  return sha256(concat([utf8Encode(`${name}\n`), typed(rawPublicKey)])).subarray(0, KEY_ID_BYTES)
}

/** signed-note: not empty, no Unicode spaces, no plus. */
function isName(name: string): boolean {
  return name !== '' && !/[\s+]/u.test(name)
}

/** Control characters other than newline. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f]/
const SIGNATURE_LINE = /^\u2014 (\S+) (\S+)$/u

/** C2SP signed-note: text, a blank line, signature lines; the last blank line counts. */
function parseNote(note: string): { text: string; signatures: NoteSignature[] } {
  if (note.length > NOTE_CHARS_MAX) throw new ProofError('note_syntax', `${note.length} characters`)
  if (CONTROL.test(note) || !note.isWellFormed()) throw new ProofError('note_syntax', 'a control character')
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n')) throw new ProofError('note_syntax', 'no text and signatures')
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > NOTE_SIGNATURES_MAX) throw new ProofError('note_syntax', `${lines.length} signatures`)
  return { text: note.slice(0, end + 1), signatures: lines.map(parseSignature) }
}

function parseSignature(line: string): NoteSignature {
  const [, name = '', encoded = ''] = SIGNATURE_LINE.exec(line) ?? []
  if (!isName(name)) throw new ProofError('note_syntax', `no signature line: ${line.slice(0, 80)}`)
  const bytes = decodeBase64(encoded, 'note_syntax')
  if (bytes.length <= KEY_ID_BYTES) throw new ProofError('note_syntax', 'a signature of no bytes')
  return { name, keyId: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) }
}

const SIZE = /^(0|[1-9][0-9]*)$/

function parseText(text: string): Checkpoint {
  const [origin = '', size = '', root = '', chain = '', ...rest] = text.split('\n')
  const known = rest.length === 1 && isName(origin) && SIZE.test(size) && chain.startsWith('chain ')
  if (!known || !Number.isSafeInteger(Number(size))) {
    throw new ProofError('checkpoint_syntax', 'not origin, size, root and chain')
  }
  return { origin, size: Number(size), root: parseHash(root), chain: parseHash(chain.slice('chain '.length)) }
}

function parseHash(text: string): Uint8Array {
  const hash = decodeBase64(text, 'checkpoint_syntax')
  if (hash.length !== HASH_BYTES) throw new ProofError('checkpoint_syntax', `a hash of ${hash.length} bytes`)
  return hash
}

function decodeBase64(text: string, code: 'note_syntax' | 'checkpoint_syntax'): Uint8Array {
  try {
    return fromBase64(text)
  } catch (error) {
    throw new ProofError(code, (error as ProofError).detail)
  }
}
