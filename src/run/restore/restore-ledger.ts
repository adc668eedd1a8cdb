import type pg from 'pg'
import type { ArchivePosition } from '../../db/chain/archives.ts'
import { readLeaves, readTree, storeTree } from '../../db/chain/checkpoints.ts'
import { ERASURES } from '../../db/evidence/erasures.ts'
import { type RestoredEntry, restoreEntries, STANDS_ALONE } from '../../db/ledgers/restored-entries.ts'
import {
  beginLedger,
  closeRestored,
  findOwnKeys,
  planForGrowth,
  type RestoredCheckpoint,
  restoreArchive,
  restoreCheckpoint,
  restoreServerKey,
} from '../../db/ledgers/restoring.ts'
import { destroyIn } from '../../followers/archive/destroy-keys.ts'
import { growTree, packFrontier, unpackFrontier } from '../../followers/checkpoints/grow-tree.ts'
import { fromBase64, fromHex, toHex } from '../../proof/bytes.ts'
import type { PublicKey, SignatureAlgorithm } from '../../proof/crypto.ts'
import { parseEnvelope } from '../../proof/envelope/cose.ts'
import { parseId, type Uuid } from '../../proof/ids.ts'
import { keyThumbprint, parsePublicKey } from '../../proof/keys.ts'
import { STATEMENT } from '../../proof/statement/kinds.ts'
import { parseStatement } from '../../proof/statement/statement.ts'
import { type Checkpoint, parseCheckpoint, verifyCheckpoint } from '../../proof/tree/checkpoint.ts'
import { TILE_HASHES } from '../../proof/tree/merkle.ts'
import { archiveKeyContext } from '../../signing/archive-keys.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import { nativeProviders } from '../../signing/native.ts'
import { archiveLedger } from '../../verify/archive/archive-ledger.ts'
import type { ArchiveKeys } from '../../verify/archive/key-file.ts'
import { ArchiveObjects } from '../../verify/archive/read-objects.ts'
import { type ArchiveSeal, piecesOf } from '../../verify/archive/seal.ts'
import type { ArchiveReader } from '../../verify/archive/store.ts'
import { databaseOf } from '../../verify/database.ts'
import { TREE_ENTRIES_PER_STEP } from '../../verify/limits.ts'
import { formatReport, type VerifyReport } from '../../verify/report.ts'
import type { LedgerSource, OpenLedger } from '../../verify/source.ts'
import { verifyLedger } from '../../verify/verify-ledger.ts'
import { entryOfLine, linesOf, RestoreError, withAuthor } from './entry-of-line.ts'
import { restoredCheckpoint } from './restored-checkpoint.ts'

const { sha256, verifySignature } = nativeProviders

export type Restore = {
  readonly ledger: string
  readonly reader: ArchiveReader
  readonly keys: ArchiveKeys
  readonly masterKey: MasterKey
  /**
   * Checkpoint notes stored outside the archive. If a note covers no more entries than the archive has, the archive
   * must be consistent with the note.
   */
  readonly outsideCheckpoints: readonly string[]
  /** Kids (hex) of envelope keys that are known from other sources. The restored chain must contain each kid. */
  readonly kids: readonly string[]
  /** True if the operator accepts the loss of entries that a stored checkpoint covers. */
  readonly acceptsLoss: boolean
  /**
   * True if the ledger may be restored although the deployment lacks the ledger's private keys. No entry can then be
   * appended.
   */
  readonly readOnly: boolean
  readonly onProgress?: (entries: number, total: number) => void
}

export type Restored = {
  /** Findings about the restored rows, like those of `verify --database`. */
  readonly report: VerifyReport
  /** Number of entries that a stored checkpoint covers and that the archive lacks. */
  readonly lost: number
  /** Says which private keys of the ledger the deployment has. */
  readonly own: { readonly envelope: boolean; readonly note: boolean }
}

/**
 * Restores a ledger from its archive into a database that lacks the ledger. The restored ledger is closed. Throws
 * RestoreError, SourceError.
 *
 * Call it in a transaction with the owner's login. A rollback undoes all changes. Entries are written when the
 * archive's verifier has accepted them. The written rows are verified before the commit makes them visible.
 */
export async function restoreLedger(client: pg.ClientBase, restore: Restore): Promise<Restored> {
  const { ledger, reader } = restore
  const ledgerId = parseId('led', ledger)
  await planForGrowth(client)
  const { size, within, beyond } = await compareCheckpoints(restore)
  const writer = new LedgerWriter(client, restore)
  const archive = await verifyLedger(writer.follow(reader, ledger), {
    ...{ checkpoints: within, kids: restore.kids },
    onProgress: ({ entries, total }) => restore.onProgress?.(entries, total),
  })
  if (!archive.ok) throw new RestoreError(namedFaults(archive))
  if (archive.entries !== size)
    throw new RestoreError('the archive has grown meanwhile: run the command again')
  await writer.finish()
  const own = await findOwnKeys(client, ledgerId)
  if (!restore.readOnly) refuseLackOfKeys(own)
  const known = beyond === null ? null : writer.verifyKnown(beyond)
  await writeTree(client, ledgerId)
  for (const checkpoint of writer.checkpoints()) await restoreCheckpoint(client, ledgerId, checkpoint)
  await continueArchive(client, ledgerId, restore, writer.position)
  await closeRestored(client, ledgerId, known ?? writer.head)
  const report = await verifyLedger(databaseOf(client, ledger, 'the restored rows'), {
    checkpoints: within,
    kids: restore.kids,
  })
  if (!report.ok) throw new RestoreError(namedFaults(report))
  return { report, lost: (known?.size ?? size) - size, own }
}

/** Returns the names of the private keys that the deployment lacks. */
export function missingKeys({ envelope, note }: Restored['own']): string[] {
  return [...(envelope ? [] : ['envelope']), ...(note ? [] : ['note'])]
}

/**
 * Throws RestoreError if private keys are missing, because they can't be added to the deployment after the ledger
 * exists.
 */
function refuseLackOfKeys(own: Restored['own']): void {
  const missing = missingKeys(own)
  if (missing.length === 0) return
  throw new RestoreError(
    `this deployment has no private ${missing.join(' and ')} key of the ledger, so it could never be reopened. First bring the keys ` +
      'with move-ledger share-keys, or use --read-only to restore the ledger only as evidence',
  )
}

function namedFaults(report: VerifyReport): string {
  return [formatReport(report), ...report.notices].join('\n')
}

type ComparedCheckpoints = {
  readonly size: number
  readonly within: string[]
  readonly beyond: string | null
}

/**
 * Compares the archive's size with the stored checkpoints. Throws RestoreError if there is no archive. Throws
 * RestoreError too if a stored checkpoint covers more entries than the archive has, and the operator does not accept
 * the loss. Throws ProofError for an invalid checkpoint.
 */
async function compareCheckpoints({
  reader,
  outsideCheckpoints: kept,
  acceptsLoss,
}: Restore): Promise<ComparedCheckpoints> {
  const newest = await new ArchiveObjects(reader).readCheckpoint()
  if (newest === null) throw new RestoreError(`${reader.name} has no archive of a ledger`)
  const { size } = newest
  const sizeOf = (text: string) => parseCheckpoint(text).checkpoint.size
  const within = kept.filter((text) => sizeOf(text) <= size)
  const [beyond = null] = kept.filter((text) => sizeOf(text) > size).sort((a, b) => sizeOf(b) - sizeOf(a))
  if (beyond !== null && !acceptsLoss)
    throw new RestoreError(
      `the archive ends after ${size} entries, and a checkpoint that you stored covers ${sizeOf(beyond)}: the entries between are lost, ` +
        'unless another copy has them. Use --accept-loss to restore without them',
    )
  return { size, within, beyond }
}

/** Writes each entry of an archive after its verification. */
class LedgerWriter {
  #notes: readonly string[] = []
  #position: ArchivePosition | null = null
  readonly #client: pg.ClientBase
  readonly #ledgerId: Uuid
  readonly #keys: ArchiveKeys
  readonly #readOnly: boolean
  readonly #definitions = new Map<number, string>()
  /**
   * Ranges that were passed to the verifier and are not written yet. `end`: size of the ledger at the end of the range.
   */
  readonly #passed: { readonly lines: Uint8Array; readonly end: number }[] = []
  #verified = 0
  /** Kids (hex) of the ledger's server keys. Every other key is an agent's. */
  readonly #serverKids = new Set<string>()
  /**
   * Maps the kid (hex) of each key in the newest seal to the key's times. The seal's keys are unverified, and only
   * their times are used.
   */
  #hints: ReadonlyMap<string, KeyTimes> = new Map()
  /** Registered statement whose author is unknown until the next entry is read; null if there is none. */
  #statement: RestoredEntry | null = null
  #last: RestoredEntry | null = null
  #definition: LedgerDefinition | null = null

  constructor(
    client: pg.ClientBase,
    { ledger, keys, readOnly }: Pick<Restore, 'ledger' | 'keys' | 'readOnly'>,
  ) {
    this.#client = client
    this.#ledgerId = parseId('led', ledger)
    this.#keys = keys
    this.#readOnly = readOnly
  }

  /**
   * Returns the archive as a source for the verifier. A verified range is written before the verifier gets the next
   * range, so that only a few ranges are in memory.
   */
  follow(reader: ArchiveReader, ledger: string): LedgerSource {
    const source = archiveLedger(reader, this.#keys, {
      seals: (seals, newestDigest, note) => this.#begin(seals, newestDigest, note),
      definition: (seq, definition) => void this.#definitions.set(seq, definition),
    })
    return { name: source.name, open: async () => this.#tee(await source.open(), ledger) }
  }

  get head(): { size: number; chain: Uint8Array } {
    const { seq, chain } = this.#last!
    return { size: seq + 1, chain }
  }

  /** Writes the remaining ranges. Call it after verification. */
  async finish(): Promise<void> {
    await this.#writeVerified()
  }

  /** Position at the archive's end, according to its verified seals. */
  get position(): ArchivePosition {
    return this.#position!
  }

  checkpoints(): RestoredCheckpoint[] {
    return this.#notes.map((note) =>
      restoredCheckpoint(note, { issuer: this.#definition!.issuer, noteKey: this.#noteKey }),
    )
  }

  get #noteKey(): PublicKey {
    return parsePublicKey('EdDSA', fromBase64(this.#definition!.noteKey))
  }

  /** Throws ProofError unless the note is a checkpoint of this ledger. */
  verifyKnown(note: string): Checkpoint {
    const { origin } = this.#definition!
    return verifyCheckpoint(note, { origin, key: this.#noteKey }, sha256, verifySignature)
  }

  #begin(seals: readonly ArchiveSeal[], newestDigest: string, note: string): void {
    const { size, keys } = seals.at(-1)!
    this.#notes = seals.map((seal, i) => (i === seals.length - 1 ? note : seal.checkpoint))
    this.#position = { size, pieces: seals.flatMap(piecesOf), sealDigest: fromHex(newestDigest) }
    this.#hints = new Map(keys.map((key) => [key.kid, key]))
  }

  #tee(opened: OpenLedger, ledger: string): OpenLedger {
    if (opened.ledger !== ledger) throw new RestoreError(`this is the archive of ${opened.ledger}`)
    const write = () => this.#writeVerified()
    const given = this.#passed
    async function* ranges() {
      for await (const range of opened.ranges()) {
        await write()
        // The lines are copied, because the verifying thread takes over the memory.
        given.push({ lines: new Uint8Array(range.lines), end: range.progress })
        yield range
      }
    }
    const { observer } = opened
    return {
      ...opened,
      ranges,
      observer: {
        ...observer!,
        appended: (step, frontier) => {
          this.#verified = step.seq + 1
          observer!.appended(step, frontier)
        },
      },
    }
  }

  async #writeVerified(): Promise<void> {
    while (this.#passed.length > 0 && this.#passed[0]!.end <= this.#verified)
      await this.#write(this.#passed.shift()!.lines)
  }

  /** Writes lines in groups. An entry of a kind in STANDS_ALONE is its own group. */
  async #write(lines: Uint8Array): Promise<void> {
    let group: RestoredEntry[] = []
    const flush = async () => {
      if (group.length > 0) await restoreEntries(this.#client, this.#ledgerId, group)
      group = []
    }
    for (const text of linesOf(lines)) {
      const read = entryOfLine(text, this.#definitions)
      this.#definitions.delete(read.seq)
      await this.#writeKeys(read)
      const isAgentSigned = read.kind !== STATEMENT && !this.#serverKids.has(toHex(read.kid))
      const entry = { ...read, isAgentSigned }
      this.#last = entry
      this.#destroyKeys(entry)
      if (entry.kind === STATEMENT) {
        this.#statement = entry
        continue
      }
      if (this.#statement) group.push(withAuthor(this.#statement, entry))
      this.#statement = null
      if (STANDS_ALONE.has(entry.kind)) await flush()
      group.push(entry)
      if (STANDS_ALONE.has(entry.kind)) await flush()
      if (entry.kind === 'ledger-created') await this.#refuseLackOfNoteKey()
    }
    await flush()
  }

  /**
   * Checks the note key at the first entry, so that a missing key is reported before the rest of the archive is read.
   * The envelope key can't be checked so early, because it may have been rotated since.
   */
  async #refuseLackOfNoteKey(): Promise<void> {
    if (this.#readOnly) return
    const own = await findOwnKeys(this.#client, this.#ledgerId)
    if (!own.note) refuseLackOfKeys(own)
  }

  /** Writes the keys that the entry names, before the entry itself. For the first entry it also writes the head. */
  async #writeKeys({ kind, envelope, kid }: RestoredEntry): Promise<void> {
    if (kind !== 'ledger-created' && kind !== 'server-key-rotated') return
    const { predicate } = parseStatement(parseEnvelope(envelope).payload)
    if (kind === 'server-key-rotated') return this.#writeKey('envelope', predicate['newKey'] as NamedKey)
    this.#definition = predicate['definition'] as unknown as LedgerDefinition
    const { envelopeKey, noteKey } = this.#definition
    await this.#writeKey('envelope', envelopeKey)
    await this.#writeKey('note', { alg: 'EdDSA', spki: noteKey })
    if (!(await beginLedger(this.#client, this.#ledgerId, kid)))
      throw new RestoreError('the database already has this ledger')
  }

  /** Destroys the keys of erased documents. A key file that is older than the erasure still contains these keys. */
  #destroyKeys({ kind, envelope }: RestoredEntry): void {
    if (kind !== 'payload-erased') return
    for (const row of ERASURES.signed(parseStatement(parseEnvelope(envelope).payload), sha256))
      for (const [fromSeq, keys] of this.#keys.pieces) destroyIn(keys, fromSeq, row)
  }

  async #writeKey(use: 'envelope' | 'note', { alg, spki }: NamedKey): Promise<void> {
    const key = parsePublicKey(alg, fromBase64(spki))
    const kid = keyThumbprint(sha256, key)
    if (use === 'envelope') this.#serverKids.add(toHex(kid))
    const { activatedAt = null, retiredAt = null, compromisedAt = null } = this.#hints.get(toHex(kid)) ?? {}
    await restoreServerKey(this.#client, {
      ...{ use, kid, alg, spki: key.spki },
      ...{ activatedAt, retiredAt, compromisedAt },
    })
  }
}

type NamedKey = { readonly alg: SignatureAlgorithm; readonly spki: string }
type LedgerDefinition = {
  readonly issuer: string
  readonly origin: string
  readonly envelopeKey: NamedKey
  readonly noteKey: string
}
type KeyTimes = { readonly [time in 'activatedAt' | 'retiredAt' | 'compromisedAt']?: string | null }

/** Writes the stored hash tiles and the frontier in the same way as the worker. */
async function writeTree(client: pg.ClientBase, ledgerId: Uuid): Promise<void> {
  for (;;) {
    const { headSize, size: from, hashes } = await readTree(client, ledgerId)
    if (from === headSize) return
    const size = Math.min(headSize, from + TREE_ENTRIES_PER_STEP)
    const frontier = unpackFrontier(from, hashes)
    const leaves = await readLeaves(client, ledgerId, from - (from % TILE_HASHES), size)
    const growths = growTree(sha256, frontier, leaves)
    await storeTree(client, ledgerId, { size, hashes: packFrontier(frontier) }, growths)
  }
}

/**
 * Stores the archive's position and sealed keys. The worker can then continue the archive, and an erasure finds the
 * keys of archived documents.
 */
async function continueArchive(
  client: pg.ClientBase,
  ledgerId: Uuid,
  { keys, masterKey }: Restore,
  position: ArchivePosition,
): Promise<void> {
  const sealed = Array.from(keys.pieces, ([fromSeq, one]) => ({
    fromSeq,
    sealed: masterKey.seal(one.pack(), archiveKeyContext(ledgerId, fromSeq)),
  }))
  await restoreArchive(client, ledgerId, position, sealed)
}
