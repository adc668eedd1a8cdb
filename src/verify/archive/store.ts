/** Where an archive is read from. Names have `/` between their parts. */
export type ArchiveReader = {
  /** For messages: a directory, an address without secrets. */
  readonly name: string
  /** null: there is no such object. Throws ArchiveStoreError where it cannot be read, or is longer than `bytesMax`. With `signal` it may be ended. */
  get(name: string, bytesMax: number, signal?: AbortSignal): Promise<Buffer | null>
}

/** Where an archive is written. Objects that were put MUST NOT change any more. */
export type ArchiveStore = ArchiveReader & {
  /** Returns when the object is durable, or when one of this name is there already: `exists`. */
  put(name: string, bytes: Uint8Array): Promise<'written' | 'exists'>
  /** The same, in the place of one that is there. */
  replace(name: string, bytes: Uint8Array): Promise<void>
}

/** The store did not do it. Says nothing about an object's content. */
export class ArchiveStoreError extends Error {
  /** Whether the store failed as a whole, and not with this object alone: it cannot be reached, or answered 5xx. */
  readonly isAway: boolean

  constructor(message: string, options: ErrorOptions & { readonly isAway?: boolean } = {}) {
    super(message, options)
    this.name = 'ArchiveStoreError'
    this.isAway = options.isAway ?? false
  }
}
