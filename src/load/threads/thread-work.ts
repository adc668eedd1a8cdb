import type { Transferable } from 'node:worker_threads'

/** Messages to and from a thread. */
export type ThreadInput = { readonly name: string; readonly input: unknown }

export type ThreadOutput = { readonly done: unknown } | { readonly threw: string }

export type WorkOptions = {
  /** A ledger, a peer of one, the operator, or UNPROVEN. Owners are served round-robin. */
  readonly owner: string
  /**
   * Group of owners of which one tenant can have any number, such as its peers. Together they may have no more than
   * one owner.
   */
  readonly ofAll?: string
  /** Memory that the work takes while it waits. */
  readonly bytes: number
  /** Time limit, from when a thread begins the work. */
  readonly msMax: number
  /** Buffers that move to the thread. The caller can no longer use them. */
  readonly transfer?: readonly Transferable[]
}

export type ThreadWork = ThreadInput &
  WorkOptions & {
    readonly resolve: (done: unknown) => void
    readonly reject: (error: Error) => void
  }
