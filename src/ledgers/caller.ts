import { hash } from 'node:crypto'
import type pg from 'pg'
import { Coalescer } from '../db/connect/coalescer.ts'
import { findApiKeys } from '../db/ledgers/api-keys.ts'
import { ownCopy } from '../proof/bytes.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import type { SignedLedger } from '../signing/signers.ts'
import { findLedgerOfKey, type KeyMac } from './api-keys.ts'
import { KnownKeys } from './known-keys.ts'
import {
  KEY_CACHE_AGE_MS_MAX,
  KEY_CACHE_KEYS_MAX,
  KEY_LOOKUP_QUERIES_MAX,
  KEY_LOOKUPS_PER_QUERY_MAX,
  KEY_LOOKUPS_WAITING_MAX,
  KEY_REFRESH_AGE_MS,
  KEY_REFRESH_QUERIES_MAX,
  KEY_REFRESHES_PER_QUERY_MAX,
  UNKNOWN_KEYS_MAX,
} from './limits.ts'
import { OTLP_SETTINGS_DEFAULT, type OtlpSettings } from './otlp-settings.ts'
import type { RateLimit } from './rate-limits.ts'
import type { Scope } from './scopes.ts'
import { UnknownKeys } from './unknown-keys.ts'

export type Caller = CachedCaller & {
  readonly authenticatedAtMs: number
  readonly written: NonNullable<SignedLedger['written']>
}

type CachedCaller = {
  readonly ledger: string
  readonly ledgerId: Uuid
  readonly issuer: string
  /** Kid of the ledger's envelope key when the API key was looked up, in lower-case hex. */
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
  /** Key with which subject labels are hashed: 32 bytes. */
  readonly subjectSalt: Uint8Array
}

/**
 * A key that was valid when it was found. If the key changes later, this object is changed, so that requests which
 * already have the object see the change.
 */
export type KnownKey = { readonly caller: CachedCaller | null }

type CachedKey = {
  readonly hash: string
  readonly ledgerId: Uuid
  /** The caller. null if the key has become invalid since it was found. */
  caller: CachedCaller | null
  /** Time when the query that found `caller` began. */
  readAtMs: number
  /** Number of calls of `forget` for the key's ledger since the key was cached. */
  forgotten: number
  reading: Promise<CachedCaller | null> | null
}

type Read = { readonly readAtMs: number; readonly caller: CachedCaller | null }

type CallerLog = { error(details: object, message: string): void }

/**
 * Finds callers by their API keys. What the database returned about a key is used for at most KEY_CACHE_AGE_MS_MAX, so
 * all servers refuse a revoked key within this time. The clock MUST never go back. Keys are looked up by their hash, so
 * the duration of a look-up reveals nothing about valid keys.
 *
 * Valid keys have a cache and queries of their own. So they are not affected if somebody invents many new keys with a
 * correct checksum.
 */
export class CallerCache {
  readonly #pool: pg.Pool
  readonly #now: () => number
  readonly #keyMac: KeyMac
  readonly #log: CallerLog
  readonly #known = new KnownKeys<CachedKey>(KEY_CACHE_KEYS_MAX)
  readonly #unknown = new UnknownKeys(UNKNOWN_KEYS_MAX)
  /** Look-ups of new keys that have not finished. */
  readonly #lookUps = new Map<string, { readonly ledgerId: Uuid; readonly found: Promise<KnownKey | null> }>()
  readonly #firstReads: Coalescer<Pick<CachedKey, 'hash' | 'ledgerId'>, Read>
  readonly #refreshes: Coalescer<Pick<CachedKey, 'hash' | 'ledgerId'>, Read>
  #figures = { hits: 0, misses: 0 }

  constructor(deps: { readPool: pg.Pool; now: () => number; keyMac: KeyMac; log: CallerLog }) {
    this.#pool = deps.readPool
    this.#now = deps.now
    this.#keyMac = deps.keyMac
    this.#log = deps.log
    this.#firstReads = new Coalescer((keys) => this.#read(keys), {
      keysMax: KEY_LOOKUPS_PER_QUERY_MAX,
      queriesMax: KEY_LOOKUP_QUERIES_MAX,
      waitingMax: KEY_LOOKUPS_WAITING_MAX,
    })
    this.#refreshes = new Coalescer((keys) => this.#read(keys), {
      keysMax: KEY_REFRESHES_PER_QUERY_MAX,
      queriesMax: KEY_REFRESH_QUERIES_MAX,
    })
  }

  /**
   * Returns the key, or null if the key is unknown. Returns a promise if a query is needed. Expired keys are found too,
   * so the caller of this function must check `expiresAtMs`. Rejects with ApiError `overloaded` if too many new keys
   * wait for their look-up. Rejects with an error of the database if the query failed or took too long.
   */
  find(apiKey: string): KnownKey | null | Promise<KnownKey | null> {
    const digest = hash('sha256', apiKey, 'binary')
    const known = this.#known.get(digest)
    if (known) {
      if (!this.#isFresh(known)) return this.#refresh(known).then((caller) => (caller ? known : null))
      this.#figures.hits++
      return known
    }
    const ledgerId = findLedgerOfKey(apiKey)
    if (!ledgerId) return null
    const unknown = this.#unknown.get(digest)
    if (unknown && this.#now() - unknown.readAtMs < KEY_CACHE_AGE_MS_MAX) {
      this.#figures.hits++
      return null
    }
    return this.#lookUp(digest, ledgerId)
  }

  /** Returns the current caller of a key that was found before, or null if the key has become invalid since. */
  callerOf(key: KnownKey): CachedCaller | null | Promise<CachedCaller | null> {
    const known = key as CachedKey
    return this.#isFresh(known) ? known.caller : this.#refresh(known)
  }

  /**
   * Marks the keys of one ledger as changed, so that each of them is read from the database again. Keys of other
   * ledgers are not marked. Otherwise one ledger could cause look-ups of all keys again and again.
   */
  forget(ledgerId: Uuid): void {
    for (const known of this.#known.of(ledgerId)) {
      known.readAtMs = Number.NEGATIVE_INFINITY
      known.forgotten++
      known.reading = null
    }
    this.#unknown.forget(ledgerId)
    for (const [digest, key] of this.#lookUps) if (key.ledgerId === ledgerId) this.#lookUps.delete(digest)
  }

  /** Number of valid keys in the cache. */
  get size(): number {
    return this.#known.size
  }

  /** Numbers of look-ups: `hits` were answered by the cache, `misses` needed the database. */
  get figures(): { readonly hits: number; readonly misses: number } {
    return this.#figures
  }

  #isFresh(known: CachedKey): boolean {
    const ageMs = this.#now() - known.readAtMs
    if (ageMs >= KEY_CACHE_AGE_MS_MAX) return false
    // A failure of this refresh is ignored. The next look-up waits for the database and throws the error.
    if (ageMs >= KEY_REFRESH_AGE_MS && known.reading === null) this.#refresh(known).catch(() => {})
    return true
  }

  #refresh(known: CachedKey): Promise<CachedCaller | null> {
    if (known.reading) return known.reading
    const reading = this.#readAnew(known).finally(() => {
      if (known.reading === reading) known.reading = null
    })
    known.reading = reading
    return reading
  }

  async #readAnew(known: CachedKey): Promise<CachedCaller | null> {
    for (;;) {
      const { forgotten } = known
      const read = await this.#refreshes.find(known)
      // If `forget` was called during the query, the query may have read the row before the change. So the row is read
      // again.
      if (known.forgotten !== forgotten) continue
      known.caller = read.caller
      known.readAtMs = read.readAtMs
      if (read.caller) this.#known.set(known)
      else {
        this.#known.delete(known.hash)
        this.#unknown.set(known.hash, { ledgerId: known.ledgerId, readAtMs: read.readAtMs })
      }
      return read.caller
    }
  }

  #lookUp(digest: string, ledgerId: Uuid): Promise<KnownKey | null> {
    const begun = this.#lookUps.get(digest)
    if (begun) return begun.found
    const found: Promise<KnownKey | null> = this.#readFirst(
      digest,
      ledgerId,
      () => this.#lookUps.get(digest)?.found === found,
    ).finally(() => {
      if (this.#lookUps.get(digest)?.found === found) this.#lookUps.delete(digest)
    })
    this.#lookUps.set(digest, { ledgerId, found })
    return found
  }

  /**
   * Looks up a new key. `isWanted`: returns false after `forget` was called. The caller is then not cached, and the
   * next use of the key reads it again.
   */
  async #readFirst(digest: string, ledgerId: Uuid, isWanted: () => boolean): Promise<KnownKey | null> {
    const { caller, readAtMs } = await this.#firstReads.find({ hash: digest, ledgerId })
    if (caller === null) {
      if (isWanted()) this.#unknown.set(digest, { ledgerId, readAtMs })
      return null
    }
    const known: CachedKey = { hash: digest, ledgerId, caller, readAtMs, forgotten: 0, reading: null }
    if (isWanted()) this.#known.set(known)
    else known.readAtMs = Number.NEGATIVE_INFINITY
    return known
  }

  async #read(keys: readonly Pick<CachedKey, 'hash' | 'ledgerId'>[]): Promise<Read[]> {
    this.#figures.misses += keys.length
    const readAtMs = this.#now()
    const secrets = keys.map(({ hash, ledgerId }) => ({ ledgerId, secretHash: Buffer.from(hash, 'binary') }))
    const rows = await findApiKeys(this.#pool, secrets)
    // An answer that is too old must not be used, because the key may have been revoked since the query began.
    if (this.#now() - readAtMs >= KEY_CACHE_AGE_MS_MAX) throw tooLate()
    return rows.map((row, i) => ({ readAtMs, caller: row && this.#callerOfRow(secrets[i]!, row) }))
  }

  #callerOfRow(
    { ledgerId, secretHash }: { readonly ledgerId: Uuid; readonly secretHash: Buffer },
    row: NonNullable<Awaited<ReturnType<typeof findApiKeys>>[number]>,
  ): CachedCaller | null {
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
      subjectSalt: ownCopy(row.subjectSalt),
    }
    // The MAC shows that the row is authentic. Without it, an attacker who can write to the table could make the server
    // sign as any agent.
    if (this.#keyMac.isOf({ ...caller, scopes: row.scopes, secretHash }, row.mac)) return caller
    this.#log.error(
      { ledger: caller.ledger, key: caller.key },
      'an API key in the database was not made by a server, or was changed outside it',
    )
    return null
  }
}

/**
 * Returns an error that counts as an unavailable database (isUnavailable). So requests are answered with 503, and
 * streams retry.
 */
function tooLate(): Error {
  return Object.assign(new Error('the database took too long to look up API keys'), { code: 'ETIMEDOUT' })
}
