/** Reads an archive's objects. Names have `/` between their parts. */
export type ArchiveReader = {
  /** For messages: a directory, or an address without secrets. */
  readonly name: string
  /**
   * Returns an object, or null if it does not exist. Throws ArchiveStoreError if it cannot be read or is longer than
   * `bytesMax`. `signal` aborts the read.
   */
  get(name: string, bytesMax: number, signal?: AbortSignal): Promise<Buffer | null>
}

/** Writes an archive's objects. Objects that were put MUST NOT change any more. */
export type ArchiveStore = ArchiveReader & {
  /** Returns when the object is durable; `exists` if an object of this name exists already. */
  put(name: string, bytes: Uint8Array): Promise<'written' | 'exists'>
  /** Does what `put` does, but replaces an existing object. */
  replace(name: string, bytes: Uint8Array): Promise<void>
}

/** The store failed. Says nothing about an object's content. */
export class ArchiveStoreError extends Error {
  /** Whether the store failed as a whole, not only for this object: it is unreachable, or answered 5xx. */
  readonly isAway: boolean

  constructor(message: string, options: ErrorOptions & { readonly isAway?: boolean } = {}) {
    super(message, options)
    this.name = 'ArchiveStoreError'
    this.isAway = options.isAway ?? false
  }
}
