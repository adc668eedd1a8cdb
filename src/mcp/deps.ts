import type { Tallystick } from '../../sdk/client.ts'
import type { ProofOptions } from '../../sdk/verify/index.ts'

/** What a session needs to access its ledger. */
export type McpDeps = {
  /** Uses the caller's key, so the server decides what the caller is allowed to do. */
  readonly client: Tallystick
  /** The caller's key; null: the server did not report it. */
  readonly key: OwnKey | null
  /** Trusted keys that the user named. Proofs are verified with them. */
  readonly trust: Pick<ProofOptions, 'kids' | 'noteKey'>
  /** Where proofs are verified, in words for people. */
  readonly verifier: 'this machine' | 'the server'
  /** Trace of a call that has no trace of its own. */
  readonly traceparent: string | undefined
  /** Called with bugs of this program. The client only gets the message that there was a fault. */
  readonly report: (error: unknown) => void
}

export type OwnKey = { readonly agent: string; readonly scopes: readonly string[] }
