import { alone, toHex } from '../proof/bytes.ts'
import { parseEnvelope } from '../proof/envelope/cose.ts'
import { type ParsedStatement, parseStatement } from '../proof/statement/statement.ts'
import { leafHash } from '../proof/tree/merkle.ts'
import { KNOWN_STATEMENTS_BYTES_MAX } from './limits.ts'
import { nativeProviders } from './native.ts'

/**
 * `statement`: null where nobody has read it yet. `isSigned`: whether it was verified that a key of the deployment
 * signed these bytes.
 */
type Known = {
  readonly envelope: Uint8Array
  readonly statement: ParsedStatement | null
  readonly isSigned: boolean
}

/**
 * Knowledge of this process about envelopes, by leaf. A leaf commits to every byte, so an envelope that was parsed or verified
 * once need not be again: a step of a gated record is read three times within a second, at 16 µs, and the signatures of two
 * are verified before a verdict, at 60; a leaf costs 1.5.
 *
 * The owner of the database decides which bytes are asked for, and cannot have others taken for them. A signed entry says
 * nothing about its place: the caller compares, each time, which entry it is and whether it is the newest.
 *
 * The oldest knowledge goes first, because the steps of a record follow each other closely.
 */
export class KnownStatements {
  readonly #known = new Map<string, Known>()
  #bytes = 0

  /** Throws what parseEnvelope and parseStatement throw. Nothing is said of its signature. */
  read(envelope: Uint8Array): ParsedStatement {
    return this.#read(leafOf(envelope), envelope)
  }

  /**
   * null where it is not known that a key of the deployment signed the envelope; `leaf`: the envelope's, lower-case
   * hex.
   */
  findSigned(leaf: string, envelope: Uint8Array): ParsedStatement | null {
    return this.#known.get(leaf)?.isSigned ? this.#read(leaf, envelope) : null
  }

  /** The bytes of an envelope that a key of the deployment signed, if that is known: so they need not be read again. */
  findEnvelope(leaf: string): Uint8Array | null {
    const known = this.#known.get(leaf)
    return known?.isSigned ? known.envelope : null
  }

  /** Parsed statement of an envelope whose signature was not verified; null: none. */
  findRead(leaf: string): ParsedStatement | null {
    return this.#known.get(leaf)?.statement ?? null
  }

  /** `statement`: null of an envelope that this process has signed itself, or that another thread of it has verified. */
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

  #set(leaf: string, known: Known): void {
    const before = this.#known.get(leaf)
    const envelope = before?.envelope ?? alone(known.envelope)
    if (!before) this.#bytes += envelope.length
    this.#known.set(leaf, { ...known, envelope })
    for (const [oldest, { envelope }] of this.#known) {
      if (this.#bytes <= KNOWN_STATEMENTS_BYTES_MAX) break
      this.#known.delete(oldest)
      this.#bytes -= envelope.length
    }
  }
}

/** Lower-case hex. */
export function leafOf(envelope: Uint8Array): string {
  return toHex(leafHash(nativeProviders.sha256, envelope))
}
