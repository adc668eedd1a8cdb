import { startsWith } from '../bytes.ts'

/** Bytes at the beginning that identify the kind of a file. */
export const FILE_KIND_BYTES = 64

export type FileKind = 'export' | 'bundle' | 'proof' | 'receipt'

const STARTS: readonly (readonly [string, FileKind])[] = [
  ['{"export"', 'export'],
  ['{"bundle"', 'bundle'],
  ['{"ledger"', 'proof'],
  ['{"keys"', 'proof'],
  ['{"entry"', 'proof'],
]

/** Tag 18 of CBOR, under which every COSE_Sign1 of ours lies: a receipt, or somebody else's statement with one. */
const SIGN1 = 0xd2
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])

/** The kind of a file, by its first bytes; null: none that is known. The verifier in Python tells them in the same way. */
export function fileKindOf(start: Uint8Array): FileKind | null {
  const from = start.findIndex((byte) => !SPACES.has(byte))
  const bytes = start.subarray(from < 0 ? start.length : from)
  if (bytes[0] === SIGN1) return 'receipt'
  return STARTS.find(([text]) => startsWith(bytes, text))?.[1] ?? null
}
