import type { Tallystick } from '../../sdk/client.ts'
import type { ProofOptions } from '../../sdk/verify/index.ts'

/** A session's way to its ledger. */
export type McpDeps = {
  /** With the key of whoever asks: it may do what that key may, and nothing here decides anew. */
  readonly client: Tallystick
  /** null: not known, because the server did not say so. */
  readonly key: OwnKey | null
  /** Knowledge from elsewhere that proofs are held to. */
  readonly trust: Pick<ProofOptions, 'kids' | 'noteKey'>
  /** Where proofs are verified, for people. */
  readonly verifier: 'this machine' | 'the server'
  /** Traces what is asked, unless a call says otherwise. */
  readonly traceparent: string | undefined
  /** Hears of faults of this program: the client learns no more than that there was one. */
  readonly report: (error: unknown) => void
}

export type OwnKey = { readonly agent: string; readonly scopes: readonly string[] }
