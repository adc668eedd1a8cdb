/** Reads an archive's objects. An object's name is a path with `/` between its parts. */
export type ArchiveReader = {
  /** Name for messages: a directory, or an address without secrets. */
  readonly name: string
  /**
   * Returns an object. Returns null if the object does not exist. Throws ArchiveStoreError if the object cannot be read
   * or is longer than `bytesMax`. `signal` aborts the read.
   */
  get(name: string, bytesMax: number, signal?: AbortSignal): Promise<Buffer | null>
}

/** Reads and writes an archive's objects. An object that was written by `put` MUST never change. */
export type ArchiveStore = ArchiveReader & {
  /**
   * Writes an object and returns when it is durable. Returns `exists` and changes nothing if an object of this name
   * exists already.
   */
  put(name: string, bytes: Uint8Array): Promise<'written' | 'exists'>
  /** Writes an object like `put`, but replaces an existing object of this name. */
  replace(name: string, bytes: Uint8Array): Promise<void>
}

/** Thrown if the store could not answer. This says nothing about the object's content, which may be correct. */
export class ArchiveStoreError extends Error {
  /** True if the store failed as a whole and not only for this object: the store is unreachable or answered 5xx. */
  readonly isAway: boolean

  constructor(message: string, options: ErrorOptions & { readonly isAway?: boolean } = {}) {
    super(message, options)
    this.name = 'ArchiveStoreError'
    this.isAway = options.isAway ?? false
  }
}
