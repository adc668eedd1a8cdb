import { concat, equalBytes, fromBase64, fromHex, isLonger, toBase64, toHex, utf8Encode } from '../bytes.ts'
import type { PublicKey, Sha256 } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { parsePublicKey, spkiOf } from '../keys.ts'
import { NOTE_BYTES_MAX, NOTE_SIGNATURES_MAX } from '../limits.ts'
import { isKeyName } from '../names.ts'

/*
 * A note of C2SP signed-note: a text, a blank line, and signature lines. This file also parses and formats the keys
 * that verify these lines, in C2SP's form (vkey).
 */

export type Note = {
  /** The signed text, which ends with a newline. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** A signature line. `keyId`: the first 4 bytes of the key's hash. */
export type NoteSignature = {
  readonly name: string
  readonly keyId: Uint8Array
  readonly signature: Uint8Array
}

/** Key of a note's signer, always Ed25519. */
export type NoteKey = { readonly name: string; readonly keyId: Uint8Array; readonly key: PublicKey }

/**
 * Supported signature types of signed-note. Type 01 is Ed25519 over the text. Type 04 is Ed25519 over a time and the
 * text.
 */
export const NOTE_TYPES = { signature: 0x01, cosignature: 0x04 } as const
type NoteType = keyof typeof NOTE_TYPES

/** Names of all signature types that C2SP signed-note assigns. */
const TYPE_NAMES: ReadonlyMap<number, string> = new Map([
  [0x01, 'Ed25519'],
  [0x02, 'ECDSA'],
  [0x04, 'Ed25519 cosignature'],
  [0x05, 'RFC 6962 tree head'],
  [0x06, 'ML-DSA-44 cosignature'],
])

const KEY_ID_BYTES = 4

/** Controls below U+0020, other than newline. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/

/** Parses a note. The last blank line separates the text from the signatures. Throws `note_syntax`. */
export function parseNote(note: string): Note {
  if (isLonger(note, NOTE_BYTES_MAX))
    throw new ProofError('note_syntax', `the note has more than ${NOTE_BYTES_MAX} bytes`)
  if (CONTROL.test(note) || !note.isWellFormed())
    throw new ProofError('note_syntax', 'the note has a control character or a lone surrogate')
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n'))
    throw new ProofError(
      'note_syntax',
      'a note must have a text, a blank line, signatures, and a newline at its end',
    )
  const text = note.slice(0, end + 1)
  return { text, signatures: parseSignatures(note.slice(end + 2)) }
}

/** Parses lines made by `signatureLine`. Throws `note_syntax`. */
export function parseSignatures(text: string): NoteSignature[] {
  const lines = text.slice(0, -1).split('\n')
  if (lines.length > NOTE_SIGNATURES_MAX)
    throw new ProofError(
      'note_syntax',
      `the note has ${lines.length} signatures, not 1 to ${NOTE_SIGNATURES_MAX}`,
    )
  return lines.map(parseSignature)
}

function parseSignature(line: string): NoteSignature {
  const [dash, name = '', encoded = '', ...rest] = line.split(' ')
  if (dash !== '\u2014' || !isKeyName(name) || rest.length > 0)
    throw new ProofError('note_syntax', `this line of the note is not a signature: ${line.slice(0, 80)}`)
  const bytes = decodeBase64(encoded, 'note_syntax')
  if (bytes.length <= KEY_ID_BYTES) throw new ProofError('note_syntax', 'a signature is empty')
  return { name, keyId: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) }
}

/** Decodes canonical base64. If the text is not canonical, throws a ProofError with the code `code`. */
export function decodeBase64(text: string, code: 'note_syntax' | 'checkpoint_syntax'): Uint8Array {
  try {
    return fromBase64(text)
  } catch (error) {
    throw new ProofError(code, (error as ProofError).detail)
  }
}

/** Returns one signature line, with its newline. `keyId`: a result of `keyIdOf`. */
export function signatureLine(name: string, keyId: Uint8Array, signature: Uint8Array): string {
  return `\u2014 ${name} ${toBase64(concat([keyId, signature]))}\n`
}

/**
 * Returns the signatures with the key's name and id. The caller MUST verify each of them, and ignore all other
 * signatures.
 */
export function signaturesOf(signatures: readonly NoteSignature[], { name, keyId }: Omit<NoteKey, 'key'>) {
  return signatures.filter((each) => each.name === name && equalBytes(each.keyId, keyId))
}

/** Returns the first 4 bytes of SHA-256(name ‖ 0x0A ‖ signature type ‖ key). `typedKey`: signature type ‖ key. */
export function keyIdOf(sha256: Sha256, name: string, typedKey: Uint8Array): Uint8Array {
  return sha256(concat([utf8Encode(`${name}\n`), typedKey])).subarray(0, KEY_ID_BYTES)
}

export function makeNoteKey(name: string, type: NoteType, key: PublicKey, sha256: Sha256): NoteKey {
  return { name, keyId: keyIdOf(sha256, name, typed(type, key.raw)), key }
}

/** Returns the vkey `<name>+<key id>+<base64 of type ‖ key>`. `rawPublicKey`: 32 bytes. */
export function formatNoteKey(
  name: string,
  type: NoteType,
  rawPublicKey: Uint8Array,
  sha256: Sha256,
): string {
  const typedKey = typed(type, rawPublicKey)
  return `${name}+${toHex(keyIdOf(sha256, name, typedKey))}+${toBase64(typedKey)}`
}

/** Parses a vkey. Throws `verifier_key`. If the key has another type, the detail of the error names that type. */
export function parseNoteKey(text: string, type: NoteType, sha256: Sha256): NoteKey {
  const [name, keyId, encoded, ...rest] = text.split('+')
  if (keyId === undefined || encoded === undefined || !isKeyName(name!)) throw badKey('not <name>+<id>+<key>')
  try {
    const bytes = fromBase64([encoded, ...rest].join('+'))
    if (bytes[0] !== NOTE_TYPES[type])
      throw badKey(
        `${name} has a key of type ${typeName(bytes[0])}, not of type ${typeName(NOTE_TYPES[type])}`,
      )
    const key = parsePublicKey('EdDSA', spkiOf('EdDSA', bytes.subarray(1)))
    const noteKey = makeNoteKey(name!, type, key, sha256)
    if (!equalBytes(fromHex(keyId), noteKey.keyId)) throw badKey('the key id does not match the key')
    return noteKey
  } catch (error) {
    throw badKey((error as ProofError).detail)
  }
}

/**
 * Returns the number of a type with its name, such as `06 (ML-DSA-44 cosignature)`. The name shows the reader that the
 * key has an unsupported type and is not broken.
 */
function typeName(type: number | undefined): string {
  if (type === undefined) return 'none'
  return `${toHex(new Uint8Array([type]))} (${TYPE_NAMES.get(type) ?? 'unknown'})`
}

function badKey(detail: string): ProofError {
  return new ProofError('verifier_key', detail)
}

function typed(type: NoteType, rawPublicKey: Uint8Array): Uint8Array {
  return concat([new Uint8Array([NOTE_TYPES[type]]), rawPublicKey])
}
