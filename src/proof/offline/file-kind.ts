import { startsWith } from '../bytes.ts'

/** Number of bytes at a file's start that are enough to identify its kind. */
export const FILE_KIND_BYTES = 64

export type FileKind = 'export' | 'bundle' | 'proof' | 'receipt'

const STARTS: readonly (readonly [string, FileKind])[] = [
  ['{"export"', 'export'],
  ['{"bundle"', 'bundle'],
  ['{"ledger"', 'proof'],
  ['{"keys"', 'proof'],
  ['{"entry"', 'proof'],
]

/**
 * CBOR tag 18, the first byte of every COSE_Sign1 that we write. A file that starts with this byte is a receipt, or a
 * registered statement with its receipt.
 */
const SIGN1 = 0xd2
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])

/**
 * Returns the kind of a file from its first bytes. Returns null if the kind is unknown. The Python verifier has the
 * same rules.
 */
export function fileKindOf(start: Uint8Array): FileKind | null {
  const from = start.findIndex((byte) => !SPACES.has(byte))
  const bytes = start.subarray(from < 0 ? start.length : from)
  if (bytes[0] === SIGN1) return 'receipt'
  return STARTS.find(([text]) => startsWith(bytes, text))?.[1] ?? null
}
