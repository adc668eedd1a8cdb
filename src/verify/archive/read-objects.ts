import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProofError } from '../../proof/error.ts'
import { SourceError } from '../source.ts'
import {
  ARCHIVE_ATTEMPTS_MAX,
  ARCHIVE_FAULTS_NAMED_MAX,
  ARCHIVE_OBJECT_BYTES_MAX,
  ARCHIVE_RETRY_PAUSE_MS,
  ARCHIVE_SEAL_BYTES_MAX,
  ARCHIVE_SEALS_BYTES_MAX,
} from './limits.ts'
import { type ArchiveObject, type ArchiveSeal, CHECKPOINT_OBJECT, parseSeal, sealName } from './seal.ts'
import { type ArchiveReader, ArchiveStoreError } from './store.ts'

/** Reads the objects of an archive, each compared with what its seal names; and notes each that is missing or another one. */
export class ArchiveObjects {
  /** Findings, an object each. */
  readonly faults: string[] = []
  readonly #reader: ArchiveReader

  constructor(reader: ArchiveReader) {
    this.#reader = reader
  }

  get name(): string {
    return this.#reader.name
  }

  /** The newest checkpoint; null: the archive is empty. */
  async readCheckpoint(): Promise<string | null> {
    const bytes = await this.#get(CHECKPOINT_OBJECT, ARCHIVE_OBJECT_BYTES_MAX)
    return bytes?.toString('utf8') ?? null
  }

  /** All seals up to that of `size` entries, the oldest first. Throws ProofError `archive_object`. */
  async readSeals(size: number): Promise<ArchiveSeal[]> {
    const seals: ArchiveSeal[] = []
    let expected: string | null = null
    let left = ARCHIVE_SEALS_BYTES_MAX
    for (let at = size; at > 0; ) {
      const bytes = await this.#get(sealName(at), ARCHIVE_SEAL_BYTES_MAX)
      if (bytes === null) throw new ProofError('archive_object', `${sealName(at)} is missing`)
      if (expected !== null && sha256Hex(bytes) !== expected)
        throw new ProofError(
          'archive_object',
          `${sealName(at)} is not the one that ${sealName(seals[0]!.size)} names`,
        )
      left -= bytes.length
      if (left < 0)
        throw new ProofError('archive_object', `the seals have more than ${ARCHIVE_SEALS_BYTES_MAX} bytes`)
      const seal = parseSeal(bytes, at)
      seals.unshift(seal)
      expected = seal.previous
      at = seal.from
    }
    return seals
  }

  /** null: it is missing or another one, which is noted. */
  async read({ name, sha256 }: ArchiveObject): Promise<Buffer | null> {
    const bytes = await this.#get(name, ARCHIVE_OBJECT_BYTES_MAX)
    if (bytes !== null && sha256Hex(bytes) === sha256) return bytes
    this.fault(`${name} ${bytes === null ? 'is missing' : 'is not the object that its seal names'}`)
    return null
  }

  fault(finding: string): void {
    if (this.faults.length < ARCHIVE_FAULTS_NAMED_MAX) this.faults.push(finding)
  }

  async #get(name: string, bytesMax: number): Promise<Buffer | null> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#reader.get(name, bytesMax)
      } catch (error) {
        if (!(error instanceof ArchiveStoreError)) throw error
        if (attempt === ARCHIVE_ATTEMPTS_MAX)
          throw new SourceError('unavailable', `${this.name}: ${error.message}`, { cause: error })
        await sleep(ARCHIVE_RETRY_PAUSE_MS * 2 ** attempt)
      }
    }
  }
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
