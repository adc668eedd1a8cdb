import type { Signer } from '../proof/crypto.ts'
import type { Uuid } from '../proof/ids.ts'
import { toHex } from './text-of-bytes.ts'

/** A ledger, and the kid (lower-case hex) of the key that signed the ledger's entries when the caller last read it. */
export type SignedLedger = {
  readonly ledgerId: Uuid
  readonly envelopeKid: string
  /**
   * Set after each append. `size` is the ledger's size after the newest entry of this request; null if this request has
   * appended no entry.
   */
  readonly written?: { size: number | null }
}

type Deps = {
  /** Reads the deployment's envelope keys that still sign for a ledger, oldest first. */
  readonly loadSigners: () => Promise<Signer[]>
  /** Returns the kid (hex) that must sign the ledger's next entry; null if the ledger does not exist. */
  readonly findEnvelopeKid: (ledgerId: Uuid) => Promise<string | null>
  readonly now: () => number
}

/**
 * Time in ms for which #moved stores a ledger. A caller's knowledge of a ledger's key is at most KEY_CACHE_AGE_MS_MAX
 * old (src/ledgers/limits.ts). This time is longer by a margin.
 */
const MOVED_MS_MAX = 10_000

/**
 * Finds the envelope key of the deployment that signs for a ledger.
 *
 * During a rotation, ledgers move to the new key one by one. An entry in each ledger names its new key. A server that
 * does not know this entry yet signs with the old key. `append_entries` then refuses the entry as stale, and
 * `signerAfterStale` reads the current key.
 */
export class Signers {
  readonly #deps: Deps
  readonly #signers = new Map<string, Signer>()
  /**
   * Maps a ledger that has moved to another key to its new signer. A ledger stays in the map as long as callers may
   * still use the old key.
   */
  readonly #moved = new Map<Uuid, { signer: Promise<Signer>; atMs: number }>()
  #newest: Signer | null = null
  #loading: Promise<Signer> | null = null

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Reads the keys again. Returns the newest key, which new ledgers use. */
  async load(): Promise<Signer> {
    for (const signer of await this.#deps.loadSigners()) {
      const kid = toHex(signer.kid)
      if (!this.#signers.has(kid)) this.#signers.set(kid, signer)
      this.#newest = this.#signers.get(kid)!
    }
    if (!this.#newest) throw new Error('the database has no envelope key: run `npm run op -- migrate`')
    return this.#newest
  }

  /** Returns the ledger's signer. Returns a promise only if the key must be read. */
  signerOf(ledger: SignedLedger): Signer | Promise<Signer> {
    if (this.#moved.size > 0) {
      const moved = this.#moved.get(ledger.ledgerId)
      if (moved && this.#deps.now() - moved.atMs < MOVED_MS_MAX) return moved.signer
    }
    return this.#signers.get(ledger.envelopeKid) ?? this.#loadUntilKnown(ledger.envelopeKid)
  }

  /** Returns the ledger's current signer, after an entry was refused as stale. Concurrent calls share one read. */
  signerAfterStale({ ledgerId }: SignedLedger, staleKid: Uint8Array): Promise<Signer> {
    const nowMs = this.#deps.now()
    for (const [other, { atMs }] of this.#moved) {
      if (nowMs - atMs < MOVED_MS_MAX) break
      this.#moved.delete(other)
    }
    const known = this.#moved.get(ledgerId)
    if (!known) return this.#readSigner(ledgerId)
    return known.signer.then((signer) => {
      if (signer.kid !== staleKid) return signer
      const newer = this.#moved.get(ledgerId)
      return newer && newer !== known ? newer.signer : this.#readSigner(ledgerId)
    })
  }

  #readSigner(ledgerId: Uuid): Promise<Signer> {
    const signer = this.#deps.findEnvelopeKid(ledgerId).then((kid) => {
      if (kid === null) throw new Error('there is no such ledger')
      return this.#signers.get(kid) ?? this.#loadUntilKnown(kid)
    })
    this.#moved.delete(ledgerId)
    this.#moved.set(ledgerId, { signer, atMs: this.#deps.now() })
    signer.catch(() => this.#moved.delete(ledgerId))
    return signer
  }

  /**
   * Reads the keys until the key `kid` is known. Thousands of ledgers may need the new key at the same moment, so
   * concurrent calls share one read. If the shared read began before the key was stored, each call reads once more.
   */
  async #loadUntilKnown(kid: string): Promise<Signer> {
    this.#loading ??= this.load().finally(() => {
      this.#loading = null
    })
    await this.#loading
    if (!this.#signers.has(kid)) await this.load()
    const signer = this.#signers.get(kid)
    if (!signer) throw new Error(`this server cannot open the ledger's envelope key ${kid}`)
    return signer
  }
}
