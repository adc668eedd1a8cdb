import { cosign } from '../../src/proof/tree/cosignature.ts'
import { formatNoteKey, parseNote } from '../../src/proof/tree/note.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'

const { sha256 } = nativeProviders

/** Makes `count` witnesses. Returns their verifier keys, and functions that add their cosignatures to a note. */
export function makeCosigners(count: number) {
  const all = Array.from({ length: count }, (_, i) => ({
    name: `w${i}.example`,
    signer: makeEd25519Signer(sha256, new Uint8Array(32).fill(50 + i)),
  }))
  const cosignAt = (note: string, i: number, timeSeconds: bigint) =>
    cosign(parseNote(note).text, timeSeconds, all[i]!.name, all[i]!.signer, sha256)
  return {
    vkeys: all.map(({ name, signer }) => formatNoteKey(name, 'cosignature', signer.key.raw, sha256)),
    cosigned: (note: string, ...by: number[]) =>
      note + by.map((i) => cosignAt(note, i, 1_700_000_000n)).join(''),
    cosignedAt: (note: string, i: number, timeSeconds: bigint) => note + cosignAt(note, i, timeSeconds),
  }
}
