/*
 * Stores two values for each ledger: the first key that this browser got, and the newest checkpoint that it verified.
 * Both outlast the tab and the API key, and neither is secret. If the server later shows another history, the stored
 * values contradict that history.
 */

export type StoredTrust = {
  /** `noteVerifierKey` of the ledger. */
  readonly noteKey: string
  /**
   * True if the reader typed the key. False if the key came from the server when this browser first opened the ledger.
   */
  readonly isGiven: boolean
  /** Time at which the key was stored, in RFC 3339. */
  readonly since: string
  /** The newest verified checkpoint, as a signed note, or null if no checkpoint was verified yet. */
  readonly checkpoint: string | null
}

const nameOf = (ledger: string) => `tallystick.kept.${ledger}`

/** Returns the stored values, or null if this browser has not opened the ledger, or cannot store anything. */
export function readTrust(ledger: string): StoredTrust | null {
  try {
    const stored: StoredTrust | null = JSON.parse(localStorage.getItem(nameOf(ledger)) ?? 'null')
    return typeof stored?.noteKey === 'string' ? { ...stored, isGiven: stored.isGiven === true } : null
  } catch {
    return null
  }
}

export function storeTrust(ledger: string, trust: Omit<StoredTrust, 'since'>): void {
  const before = readTrust(ledger)
  const since = before?.noteKey === trust.noteKey ? before.since : new Date().toISOString()
  try {
    localStorage.setItem(nameOf(ledger), JSON.stringify({ ...trust, since }))
  } catch {
    // Storage is full or disabled. Nothing is stored, and the verdict tells the reader so.
  }
}

export function forget(ledger: string): void {
  localStorage.removeItem(nameOf(ledger))
}

/** The key with which a ledger is verified, and where the key comes from. */
export type LedgerKey = Pick<StoredTrust, 'noteKey' | 'isGiven'> & {
  /**
   * Time at which the key was stored (RFC 3339). null if the key is not stored: the server has just sent it, or the
   * reader typed it for one file.
   */
  readonly since: string | null
}

/** Returns the stored key of a ledger, or the key that the server sends now. */
export function keyOf({ id, noteVerifierKey }: { id: string; noteVerifierKey: string }): LedgerKey {
  return readTrust(id) ?? { noteKey: noteVerifierKey, isGiven: false, since: null }
}

const WITNESSES = 'tallystick.witnesses'

/** Returns the witness keys (C2SP verifier keys, type 04) that the reader typed in. They apply to all ledgers. */
export function readWitnesses(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(WITNESSES) ?? '[]')
    return Array.isArray(stored) ? stored.filter((key) => typeof key === 'string') : []
  } catch {
    return []
  }
}

export function storeWitnesses(keys: readonly string[]): void {
  localStorage.setItem(WITNESSES, JSON.stringify(keys))
}

/** Returns the number of entries that a checkpoint covers, from the second line of the note. */
export function sizeOf(note: string): number {
  return Number(note.split('\n')[1])
}
