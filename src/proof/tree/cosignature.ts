import { concat, toHex, utf8Encode } from '../bytes.ts'
import { type ProofProviders, type Sha256, SIGNATURE_BYTES, type Signer } from '../crypto.ts'
import { ProofError } from '../error.ts'
import { COSIGNATURE_SECONDS_MAX } from '../limits.ts'
import {
  makeNoteKey,
  type Note,
  type NoteKey,
  type NoteSignature,
  parseNoteKey,
  signatureLine,
  signaturesOf,
} from './note.ts'

/*
 * Cosignatures of witnesses: C2SP tlog-cosignature, Ed25519 (cosignature/v1). By a cosignature, a witness states two
 * facts about the time of signing. First, the witness had seen no larger tree of the log. Second, every tree of the log
 * that it had seen is a beginning of this tree.
 */

/**
 * Witnesses that a verifier knows. `min`: number of witnesses that MUST have cosigned a checkpoint before the
 * checkpoint counts.
 */
export type WitnessPolicy = {
  readonly witnesses: readonly NoteKey[]
  readonly min: number
}

/**
 * A cosignature of a witness. `witness`: name of the witness. `timeSeconds`: time in seconds since 1970, from 1 to
 * COSIGNATURE_SECONDS_MAX. It is a bigint, because a number cannot represent all of these values.
 */
export type Cosignature = { readonly witness: string; readonly timeSeconds: bigint }

/**
 * Counts of a note's signature lines. `cosigned`: number of given witnesses that cosigned. `unknown`: number of lines
 * by keys that belong neither to the log nor to a given witness. A line does not show the type of its signature, so
 * these lines need not be cosignatures.
 */
export type CosignatureCount = { readonly cosigned: number; readonly unknown: number }

const TIME_BYTES = 8

/**
 * Returns the signature line, with its newline, for a note with this text. `timeSeconds`: a positive integer, in
 * seconds since 1970. `signer`: an Ed25519 key that signs nothing else.
 */
export function cosign(
  text: string,
  timeSeconds: number | bigint,
  name: string,
  signer: Signer,
  sha256: Sha256,
): string {
  const { keyId } = makeNoteKey(name, 'cosignature', signer.key, sha256)
  const time = new Uint8Array(TIME_BYTES)
  new DataView(time.buffer).setBigUint64(0, BigInt(timeSeconds))
  return signatureLine(name, keyId, concat([time, signer.sign(toBeCosigned(text, timeSeconds))]))
}

function toBeCosigned(text: string, timeSeconds: number | bigint): Uint8Array {
  return utf8Encode(`cosignature/v1\ntime ${timeSeconds}\n${text}`)
}

/**
 * Returns the note's cosignatures by these witnesses. Other signatures are ignored. Throws `signature_invalid` if a
 * line of one of these witnesses does not verify (C2SP signed-note).
 */
export function verifyCosignatures(
  { text, signatures }: Note,
  witnesses: readonly NoteKey[],
  { verifySignature }: ProofProviders,
): Cosignature[] {
  return witnesses.flatMap((witness) =>
    signaturesOf(signatures, witness).map(({ signature }) => {
      const timeSeconds = timeOf(signature)
      const isSigned =
        timeSeconds > 0n &&
        timeSeconds <= COSIGNATURE_SECONDS_MAX &&
        verifySignature(witness.key, toBeCosigned(text, timeSeconds), signature.subarray(TIME_BYTES))
      if (!isSigned)
        throw new ProofError('signature_invalid', `the cosignature by ${witness.name} does not verify`)
      return { witness: witness.name, timeSeconds }
    }),
  )
}

/** Returns the time in a cosignature. If the signature has a wrong length, returns 0n, which is an invalid time. */
function timeOf(signature: Uint8Array): bigint {
  if (signature.length !== TIME_BYTES + SIGNATURE_BYTES) return 0n
  return new DataView(signature.buffer, signature.byteOffset).getBigUint64(0)
}

/** Counts the witnesses that cosigned. Each witness counts once. Throws the same code as verifyCosignatures. */
export function countCosignatures(
  note: Note,
  { witnesses }: WitnessPolicy,
  providers: ProofProviders,
): CosignatureCount {
  const found = verifyCosignatures(note, witnesses, providers)
  const origin = note.text.slice(0, note.text.indexOf('\n'))
  const isKnown = (line: NoteSignature) =>
    line.name === origin || witnesses.some((witness) => signaturesOf([line], witness).length > 0)
  return {
    cosigned: new Set(found.map(({ witness }) => witness)).size,
    unknown: note.signatures.filter((line) => !isKnown(line)).length,
  }
}

/**
 * Parses witnesses. `vkeys`: verifier keys of type 04. `min`: the default is the number of witnesses. Throws:
 *
 * - `verifier_key` for a malformed key, and for a duplicate key or name, because the same witness would count twice
 * - `witnesses_too_few` if `min` is not between 1 and the number of witnesses
 */
export function parseWitnessPolicy(
  vkeys: readonly string[],
  min: number | undefined,
  sha256: Sha256,
): WitnessPolicy {
  const witnesses = vkeys.map((vkey) => parseNoteKey(vkey, 'cosignature', sha256))
  for (const each of [witnesses.map(({ name }) => name), witnesses.map(({ key }) => toHex(key.raw))]) {
    if (new Set(each).size < each.length)
      throw new ProofError('verifier_key', 'two witnesses have the same name or key, and would count twice')
  }
  const needed = min ?? witnesses.length
  if (!Number.isInteger(needed) || needed < 1 || needed > witnesses.length)
    throw new ProofError(
      'witnesses_too_few',
      `the number of needed witnesses must be 1 to ${witnesses.length}, the number of given witnesses, not ${needed}`,
    )
  return { witnesses, min: needed }
}
