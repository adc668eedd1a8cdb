import type { Uuid } from '../../proof/ids.ts'

/** The piece of an archive that a chunk lies in, and the keys of its documents as they are now. */
export type PlaceInArchive = {
  readonly ledgerId: Uuid
  /** First entry of the piece. */
  readonly from: number
  /** SHA-256 of the piece's objects, in hex, and their lengths; `documents` null: it has none. */
  readonly lines: string
  readonly linesBytes: number
  readonly documents: string | null
  readonly documentsBytes: number | null
  /** Sealed secrets of the piece, base64; null: there are none. */
  readonly keys: string | null
}

/** A chunk to be read from the archive. */
export type ChunkInArchive = {
  readonly place: PlaceInArchive
  readonly seq: number
  readonly chunk: number
  readonly firstRecordId: Uuid
  readonly count: number
  /** Seqs of the entries that erase its payloads, by record. */
  readonly erasures: ReadonlyMap<Uuid, number>
}

/** Envelopes to be read from the archive, all of one bundle (docs/formats/archive.md#objects). */
export type EnvelopesInArchive = {
  readonly ledgerId: Uuid
  readonly tile: number
  /** Entries of the bundle. */
  readonly width: number
  readonly entries: readonly { readonly seq: number; readonly leaf: Uint8Array }[]
}

/** Reads content that has left Postgres. */
export type ReleasedContent = {
  /**
   * The chunk's content (docs/formats/chunks.md), without metadata. Throws ApiError `archive_unavailable`: nobody knows; ReleasedFault: the
   * archive has lost or changed it.
   */
  read(chunk: ChunkInArchive): Promise<Uint8Array>
  /** The envelopes in the order of the entries, each with its leaf. Throws as `read` does. */
  readEnvelopes(wanted: EnvelopesInArchive): Promise<Uint8Array[]>
}

/** A connection or pool of a process that may read the archive. */
export type ReadsReleased = { readonly released?: ReleasedContent | null }
