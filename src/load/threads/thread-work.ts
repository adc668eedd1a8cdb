import type { Transferable } from 'node:worker_threads'

export type ThreadInput = { readonly name: string; readonly input: unknown }

export type ThreadOutput = { readonly done: unknown } | { readonly threw: string }

export type WorkOptions = {
  /** Owner of the work: a ledger, a peer of a ledger, the operator, or UNPROVEN. Owners are served round-robin. */
  readonly owner: string
  /**
   * A group of owners that belong to one tenant, such as the peers of a ledger. A tenant can have any number of such
   * owners. So all owners of a group together have the limits of one owner.
   */
  readonly ofAll?: string
  /** Memory in bytes that the work takes while it waits. */
  readonly bytes: number
  /** Maximum time in ms for the work, counted from when a thread begins it. */
  readonly msMax: number
  /** Buffers that are transferred to the thread. The caller cannot use them any longer. */
  readonly transfer?: readonly Transferable[]
}

export type ThreadWork = ThreadInput &
  WorkOptions & {
    readonly resolve: (done: unknown) => void
    readonly reject: (error: Error) => void
  }
