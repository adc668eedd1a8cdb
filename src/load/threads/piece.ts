import type { Transferable } from 'node:worker_threads'

/** Messages to a thread, and from it. */
export type Given = { readonly name: string; readonly input: unknown }

export type Ended = { readonly done: unknown } | { readonly threw: string }

export type PieceOptions = {
  /** A ledger, a peer of one, the operator, or UNPROVEN. Owners take turns. */
  readonly owner: string
  /** Group of owners of which one tenant can have any number, such as its peers: together they have no more than one owner. */
  readonly ofAll?: string
  /** Memory that it holds while it waits. */
  readonly bytes: number
  /** From when a thread begins it. */
  readonly msMax: number
  /** Buffers that move to the thread; the caller has them no more. */
  readonly transfer?: readonly Transferable[]
}

export type Piece = Given &
  PieceOptions & {
    readonly resolve: (done: unknown) => void
    readonly reject: (error: Error) => void
  }
