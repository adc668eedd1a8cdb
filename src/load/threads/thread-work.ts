import type { Transferable } from 'node:worker_threads'

export type ThreadInput = { readonly name: string; readonly input: unknown }

export type ThreadOutput = { readonly done: unknown } | { readonly threw: string }

export type WorkOptions = {
  /** A ledger, a peer of a ledger, the operator, or UNPROVEN. Owners are served round-robin. */
  readonly owner: string
  /**
   * Group of owners that belong to one tenant, who can have any number of them, such as its peers. All owners of a
   * group together have the limits of one owner.
   */
  readonly ofAll?: string
  /** Memory that the work takes while it waits. */
  readonly bytes: number
  /** Time limit, counted from when a thread begins the work. */
  readonly msMax: number
  /** Buffers that move to the thread. The caller cannot use them any longer. */
  readonly transfer?: readonly Transferable[]
}

export type ThreadWork = ThreadInput &
  WorkOptions & {
    readonly resolve: (done: unknown) => void
    readonly reject: (error: Error) => void
  }
