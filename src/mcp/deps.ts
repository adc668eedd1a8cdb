import type { Tallystick } from '../../sdk/client.ts'
import type { ProofOptions } from '../../sdk/verify/index.ts'

/** What an MCP session needs to access its ledger. */
export type McpDeps = {
  /** Client with the caller's key. So the server decides what the caller may do. */
  readonly client: Tallystick
  /** The caller's key. null if the server did not report it. */
  readonly key: OwnKey | null
  /** Keys that the user trusts and has named. Proofs are verified with them. */
  readonly trust: Pick<ProofOptions, 'kids' | 'noteKey'>
  /** Where proofs are verified, in words for people. */
  readonly verifier: 'this machine' | 'the server'
  /** Traceparent for calls that have no traceparent of their own. */
  readonly traceparent: string | undefined
  /** Called with an error that is a bug of this program. The client gets only the message that there was a fault. */
  readonly report: (error: unknown) => void
}

export type OwnKey = { readonly agent: string; readonly scopes: readonly string[] }
