import type pg from 'pg'
import { findApiKey } from '../db/ledgers/api-keys.ts'
import { alone } from '../proof/bytes.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import type { SignedLedger } from '../signing/signers.ts'
import { findLedgerOfKey, hashKey, type KeyMac } from './api-keys.ts'
import { KEY_CACHE_AGE_MS_MAX, KEY_CACHE_KEYS_MAX } from './limits.ts'
import { OTLP_SETTINGS_DEFAULT, type OtlpSettings } from './otlp-settings.ts'
import type { RateLimit } from './rate-limits.ts'
import type { Scope } from './scopes.ts'

/** Caller: an agent of a ledger, by one of its keys. */
export type Caller = KnownCaller & {
  readonly authenticatedAtMs: number
  readonly written: NonNullable<SignedLedger['written']>
}

type KnownCaller = {
  readonly ledger: string
  readonly ledgerId: Uuid
  readonly issuer: string
  /** Kid that signed the ledger's entries when the key was looked up: lower-case hex. */
  readonly envelopeKid: string
  readonly agent: string
  readonly agentId: Uuid
  readonly key: string
  readonly keyId: Uuid
  readonly scopes: ReadonlySet<Scope>
  readonly expiresAtMs: number | null
  readonly keyLimit: RateLimit | null
  readonly ledgerLimit: RateLimit | null
  readonly otlp: OtlpSettings
  /** Key of the hashes of persons' labels: 32 bytes. */
  readonly subjectSalt: Uint8Array
}

type CallerLog = { error(details: object, message: string): void }

/**
 * Finds callers by their keys. The database's answer about a key is believed for 5 s at most, so a revoked key is
 * refused everywhere within that time. The clock MUST be one that never goes back. Keys are looked up by hash: the time that takes tells
 * nothing about them.
 */
export class CallerCache {
  readonly #pool: pg.Pool
  readonly #now: () => number
  readonly #keyMac: KeyMac
  readonly #log: CallerLog
  readonly #callers = new Map<
    string,
    { ledgerId: Uuid; readAtMs: number; caller: Promise<KnownCaller | null> }
  >()
  #figures = { hits: 0, misses: 0 }

  constructor(deps: { readPool: pg.Pool; now: () => number; keyMac: KeyMac; log: CallerLog }) {
    this.#pool = deps.readPool
    this.#now = deps.now
    this.#keyMac = deps.keyMac
    this.#log = deps.log
  }

  /** null: there is no such key. An expired key is found too: the caller must look at `expiresAtMs`. */
  find(apiKey: string): Promise<KnownCaller | null> {
    const secretHash = hashKey(apiKey)
    const cacheKey = secretHash.toString('latin1')
    const cached = this.#callers.get(cacheKey)
    if (cached && this.#now() - cached.readAtMs < KEY_CACHE_AGE_MS_MAX) {
      this.#figures.hits++
      return cached.caller
    }
    // Only what is a key by its own checksum was ever put there.
    const ledgerId = findLedgerOfKey(apiKey)
    if (!ledgerId) return Promise.resolve(null)
    this.#figures.misses++
    return this.#read(cacheKey, ledgerId, secretHash)
  }

  /**
   * Says that a key of the ledger was changed here: the database is asked again for each of the ledger's keys. Those of
   * other ledgers stay, or one could have all of them looked up again and again.
   */
  forget(ledgerId: Uuid): void {
    for (const [cacheKey, known] of this.#callers) {
      if (known.ledgerId === ledgerId) this.#callers.delete(cacheKey)
    }
  }

  get size(): number {
    return this.#callers.size
  }

  /** Looks that the cache answered, and that the database was asked for. */
  get figures(): { readonly hits: number; readonly misses: number } {
    return this.#figures
  }

  #read(cacheKey: string, ledgerId: Uuid, secretHash: Buffer): Promise<KnownCaller | null> {
    // The oldest goes first; unknown keys are kept as well, so that they can't be used to load the database.
    this.#callers.delete(cacheKey)
    if (this.#callers.size >= KEY_CACHE_KEYS_MAX) this.#callers.delete(this.#callers.keys().next().value!)
    const caller = this.#readCaller(ledgerId, secretHash)
    this.#callers.set(cacheKey, { ledgerId, readAtMs: this.#now(), caller })
    // A failed look is not remembered.
    caller.catch(() => this.#callers.delete(cacheKey))
    return caller
  }

  async #readCaller(ledgerId: Uuid, secretHash: Buffer): Promise<KnownCaller | null> {
    const row = await findApiKey(this.#pool, ledgerId, secretHash)
    if (!row) return null
    const caller = {
      ledger: formatId('led', ledgerId),
      ledgerId,
      issuer: row.issuer,
      envelopeKid: row.envelopeKid,
      agent: formatId('agt', row.agentId),
      agentId: row.agentId,
      key: formatId('key', row.keyId),
      keyId: row.keyId,
      scopes: new Set(row.scopes as Scope[]),
      expiresAtMs: row.expiresAtMs,
      keyLimit: row.keyLimit,
      ledgerLimit: row.ledgerLimit,
      otlp: row.otlp ?? OTLP_SETTINGS_DEFAULT,
      subjectSalt: alone(row.subjectSalt),
    }
    // An attacker who can write to the table could otherwise have the server sign as any agent.
    if (this.#keyMac.isOf({ ...caller, scopes: row.scopes, secretHash }, row.mac)) return caller
    this.#log.error({ ledger: caller.ledger, key: caller.key }, 'an API key was made or changed by no server')
    return null
  }
}
