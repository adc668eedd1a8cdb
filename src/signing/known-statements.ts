import { ownCopy, toHex } from '../proof/bytes.ts'
import { parseEnvelope } from '../proof/envelope/cose.ts'
import { type ParsedStatement, parseStatement } from '../proof/statement/statement.ts'
import { leafHash } from '../proof/tree/merkle.ts'
import { KNOWN_STATEMENTS_BYTES_MAX } from './limits.ts'
import { nativeProviders } from './native.ts'

/**
 * What the cache knows about an envelope. `statement` is null if the envelope was not parsed yet. `isSigned`: true if
 * it was verified that a key of the deployment signed these bytes.
 */
type KnownStatement = {
  readonly envelope: Uint8Array
  readonly statement: ParsedStatement | null
  readonly isSigned: boolean
}

/**
 * Cache of this process for envelopes, by leaf.
 *
 * A leaf commits to every byte of an envelope. So an envelope that was parsed or verified once need not be parsed or
 * verified again. Without the cache, a step of a gated record is parsed three times within a second, at 16 µs each, and
 * two signatures are verified before a verdict, at 60 µs each. To compute a leaf takes 1.5 µs.
 *
 * The owner of the database chooses which bytes are looked up, but cannot make the cache accept other bytes for a leaf.
 * A signed entry does not prove its position. So the caller must check each time which entry it is, and whether it is
 * the newest entry.
 *
 * The oldest envelopes are dropped first, because the steps of a record follow each other closely.
 */
export class KnownStatements {
  readonly #known = new Map<string, KnownStatement>()
  #bytes = 0

  /**
   * Returns the parsed statement of an envelope, without verifying the signature. Throws the errors of parseEnvelope
   * and parseStatement.
   */
  read(envelope: Uint8Array): ParsedStatement {
    return this.#read(leafOf(envelope), envelope)
  }

  /**
   * Returns the statement if a key of the deployment is known to have signed the envelope, otherwise null. `leaf` is
   * the envelope's leaf in lower-case hex.
   */
  findSigned(leaf: string, envelope: Uint8Array): ParsedStatement | null {
    return this.#known.get(leaf)?.isSigned ? this.#read(leaf, envelope) : null
  }

  /**
   * Returns the bytes of an envelope that a key of the deployment is known to have signed, so that the caller does not
   * have to read the envelope again. Returns null for all other leaves.
   */
  findEnvelope(leaf: string): Uint8Array | null {
    const known = this.#known.get(leaf)
    return known?.isSigned ? known.envelope : null
  }

  /**
   * Returns the parsed statement of an envelope. Returns null if the cache does not have it. The signature may be
   * unverified.
   */
  findRead(leaf: string): ParsedStatement | null {
    return this.#known.get(leaf)?.statement ?? null
  }

  /**
   * Adds a signed envelope. `statement` is null if it is not parsed here: this process signed the envelope itself, or
   * another thread verified it.
   */
  addSigned(leaf: string, envelope: Uint8Array, statement: ParsedStatement | null): void {
    this.#set(leaf, { envelope, statement: statement ?? this.findRead(leaf), isSigned: true })
  }

  #read(leaf: string, envelope: Uint8Array): ParsedStatement {
    const known = this.#known.get(leaf)
    if (known?.statement) return known.statement
    const statement = parseStatement(parseEnvelope(envelope).payload)
    this.#set(leaf, { envelope, statement, isSigned: known?.isSigned ?? false })
    return statement
  }

  #set(leaf: string, known: KnownStatement): void {
    const before = this.#known.get(leaf)
    const envelope = before?.envelope ?? ownCopy(known.envelope)
    if (!before) this.#bytes += envelope.length
    this.#known.set(leaf, { ...known, envelope })
    for (const [oldest, { envelope }] of this.#known) {
      if (this.#bytes <= KNOWN_STATEMENTS_BYTES_MAX) break
      this.#known.delete(oldest)
      this.#bytes -= envelope.length
    }
  }
}

/** Returns the leaf in lower-case hex. */
export function leafOf(envelope: Uint8Array): string {
  return toHex(leafHash(nativeProviders.sha256, envelope))
}
