import { ProofError } from '../error.ts'

/** Types that every ledger has without a registration. */
const BUILT_IN = [
  'agent-action/1',
  'agent-outcome/1',
  'approval/1',
  'generic/1',
  'mcp-call/1',
  'otel-log/1',
  'otel-span/1',
  'task/1',
]

/**
 * The record types of a ledger, by `name/version`. A type must be registered before a record uses the type. A
 * registered type never changes.
 */
export class LedgerTypes {
  readonly #digests = new Map<string, string | null>(BUILT_IN.map((type) => [type, null]))

  readonly #agentSigned = new Set<string>()

  /** Sets the digests of the built-in types from the ledger's definition. */
  begin(types: Readonly<Record<string, string>>): void {
    for (const [type, digest] of Object.entries(types)) this.#digests.set(type, digest)
  }

  register(type: string, digest: string, agentSigned: boolean): void {
    if (this.#digests.has(type))
      throw new ProofError('duplicate_subject', `the type ${type} is registered twice`)
    this.#digests.set(type, digest)
    if (agentSigned) this.#agentSigned.add(type)
  }

  verifyTypes(types: readonly string[]): void {
    for (const type of types) {
      if (!this.#digests.has(type))
        throw new ProofError('type_unknown', `no earlier entry registers the type ${type}`)
    }
  }

  isAgentSigned(type: string): boolean {
    return this.#agentSigned.has(type)
  }

  /** Throws if the server signed a record of a type that agents must sign themselves. */
  verifySigner(types: readonly string[], isAgentSigned: boolean): void {
    const demanding = isAgentSigned ? undefined : types.find((type) => this.#agentSigned.has(type))
    if (demanding !== undefined)
      throw new ProofError('agent_signature_missing', `agents must sign records of ${demanding} themselves`)
  }

  /** Verifies that a gated record's first entry names the digest of its type. */
  verifyDigest(type: string, digest: string): void {
    const known = this.#digests.get(type)
    if (known !== null && known !== digest)
      throw new ProofError(
        'type_unknown',
        `the type ${type} was registered with the digest ${known}, but the record names ${digest}`,
      )
  }
}
