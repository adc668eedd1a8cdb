import { setTimeout as sleep } from 'node:timers/promises'
import { utf8Decode } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { sha256Hex } from '../../signing/sha256.ts'
import { SourceError } from '../source.ts'
import {
  ARCHIVE_ATTEMPTS_MAX,
  ARCHIVE_FAULTS_NAMED_MAX,
  ARCHIVE_OBJECT_BYTES_MAX,
  ARCHIVE_RETRY_PAUSE_MS,
  ARCHIVE_SEAL_BYTES_MAX,
  ARCHIVE_SEALS_BYTES_MAX,
} from './limits.ts'
import { BodyTooLong } from './read-body.ts'
import { type ArchiveObject, type ArchiveSeal, CHECKPOINT_OBJECT, parseSeal, sealName } from './seal.ts'
import { type ArchiveReader, ArchiveStoreError } from './store.ts'

/**
 * Reads the objects of an archive and compares each object with its seal. Adds a fault if an object is missing or
 * differs.
 */
export class ArchiveObjects {
  /** One finding for each faulty object. */
  readonly faults: string[] = []
  readonly #reader: ArchiveReader

  constructor(reader: ArchiveReader) {
    this.#reader = reader
  }

  get name(): string {
    return this.#reader.name
  }

  /**
   * Reads the newest checkpoint without verifying its signature. Returns null if the archive is empty. Throws
   * ProofError with `archive_object`, `note_syntax` or `checkpoint_syntax`.
   */
  async readCheckpoint(): Promise<{ readonly note: string; readonly size: number } | null> {
    const bytes = await this.#get(CHECKPOINT_OBJECT, ARCHIVE_OBJECT_BYTES_MAX)
    if (bytes === MISSING) return null
    if (bytes === TOO_LONG) throw refused(`${CHECKPOINT_OBJECT} is too long`)
    const note = textOf(bytes)
    const { size } = parseCheckpoint(note).checkpoint
    if (size === 0) throw refused(`${CHECKPOINT_OBJECT} covers no entry`)
    return { note, size }
  }

  /**
   * Reads all seals up to the seal of `size` entries. Returns them oldest first, with the digest of the newest seal.
   * Throws the ProofErrors of parseSeal, and `archive_object` if a seal is missing, too long or changed.
   */
  async readSeals(size: number): Promise<{ readonly seals: ArchiveSeal[]; readonly newestDigest: string }> {
    const seals: ArchiveSeal[] = []
    let newestDigest: string | null = null
    let left = ARCHIVE_SEALS_BYTES_MAX
    for (let at = size; at > 0; ) {
      const bytes = await this.#get(sealName(at), Math.min(left, ARCHIVE_SEAL_BYTES_MAX))
      if (bytes === MISSING) throw refused(`${sealName(at)} is missing`)
      if (bytes === TOO_LONG) throw refused(`${sealName(at)}, or all seals together, are too long`)
      left -= bytes.length
      const digest = sha256Hex(bytes)
      const next = seals.at(-1)
      if (next && digest !== next.previous)
        throw refused(`${sealName(at)} is not the one that ${sealName(next.size)} names`)
      const seal = parseSeal(bytes, at)
      if (next && seal.ledger.id !== next.ledger.id)
        throw refused(`${sealName(at)} belongs to another ledger than ${sealName(next.size)}`)
      newestDigest ??= digest
      seals.push(seal)
      at = seal.from
    }
    return { seals: seals.reverse(), newestDigest: newestDigest! }
  }

  /**
   * Reads an object. Returns null and adds a fault if the object is missing or differs. Reads at most as many bytes as
   * the seal names.
   */
  async read({ name, bytes: length, sha256 }: ArchiveObject): Promise<Buffer | null> {
    const bytes = await this.#get(name, length)
    if (bytes instanceof Buffer && bytes.length === length && sha256Hex(bytes) === sha256) return bytes
    this.fault(`${name} ${bytes === MISSING ? 'is missing' : 'is not the object that its seal names'}`)
    return null
  }

  /**
   * Runs `work` on an object that was read. If the object is malformed, adds a fault and returns null. The seal is
   * then wrong too, because it names this object's digest.
   */
  async check<T>(name: string, work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ProofError)) throw error
      this.fault(`${name} does not have the right format: ${error.detail}`)
      return null
    }
  }

  fault(finding: string): void {
    if (this.faults.length < ARCHIVE_FAULTS_NAMED_MAX) this.faults.push(finding)
  }

  async #get(name: string, bytesMax: number): Promise<Buffer | typeof MISSING | typeof TOO_LONG> {
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#reader.get(name, bytesMax)) ?? MISSING
      } catch (error) {
        if (!(error instanceof ArchiveStoreError)) throw error
        if (error.cause instanceof BodyTooLong) return TOO_LONG
        if (attempt === ARCHIVE_ATTEMPTS_MAX)
          throw new SourceError('unavailable', `${this.name}: ${error.message}`, { cause: error })
        await sleep(ARCHIVE_RETRY_PAUSE_MS * 2 ** attempt)
      }
    }
  }
}

const MISSING = 'missing'
const TOO_LONG = 'too long'

function textOf(note: Buffer): string {
  try {
    return utf8Decode(note)
  } catch {
    throw refused(`${CHECKPOINT_OBJECT} is not UTF-8`)
  }
}

function refused(finding: string): ProofError {
  return new ProofError('archive_object', finding)
}
