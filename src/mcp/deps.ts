import type { Tallystick } from '../../sdk/client.ts'
import type { ProofOptions } from '../../sdk/verify/index.ts'

/** What a session needs to reach its ledger. */
export type McpDeps = {
  /** Uses the caller's key, so the server decides what the caller may do. */
  readonly client: Tallystick
  /** null: unknown, because the server did not report it. */
  readonly key: OwnKey | null
  /** Trusted keys, given by the user, that proofs are verified with. */
  readonly trust: Pick<ProofOptions, 'kids' | 'noteKey'>
  /** Where proofs are verified, in words for people. */
  readonly verifier: 'this machine' | 'the server'
  /** Trace of the calls, unless a call has its own. */
  readonly traceparent: string | undefined
  /** Called with faults of this program. The client learns only that there was a fault. */
  readonly report: (error: unknown) => void
}

export type OwnKey = { readonly agent: string; readonly scopes: readonly string[] }
