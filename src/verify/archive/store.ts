/** Reads an archive's objects. An object's name is a path with `/` between its parts. */
export type ArchiveReader = {
  /** Name for messages: a directory, or an address without secrets. */
  readonly name: string
  /**
   * Returns an object; null: the object does not exist. Throws ArchiveStoreError if it cannot be read or is longer
   * than `bytesMax`. `signal` aborts the read.
   */
  get(name: string, bytesMax: number, signal?: AbortSignal): Promise<Buffer | null>
}

/** Writes an archive's objects. An object that was put MUST NOT change any more. */
export type ArchiveStore = ArchiveReader & {
  /**
   * Writes an object and returns when it is durable. Returns `exists`, without a change, if an object of this name
   * exists already.
   */
  put(name: string, bytes: Uint8Array): Promise<'written' | 'exists'>
  /** Writes an object as `put` does, but replaces an existing one. */
  replace(name: string, bytes: Uint8Array): Promise<void>
}

/** Thrown if the store failed. This says nothing about an object's content. */
export class ArchiveStoreError extends Error {
  /** Whether the store failed as a whole and not only for this object, because it is unreachable or answered 5xx. */
  readonly isAway: boolean

  constructor(message: string, options: ErrorOptions & { readonly isAway?: boolean } = {}) {
    super(message, options)
    this.name = 'ArchiveStoreError'
    this.isAway = options.isAway ?? false
  }
}
