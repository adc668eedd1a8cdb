import { ownCopy, utf8Encode } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { parseExportHead } from '../../proof/ledger/export-ends.ts'
import { findNamedKeys } from '../../proof/offline/key-hints.ts'
import { loadProviders } from '../providers.ts'
import type { EntryRange, LedgerSource, OpenLedger } from '../source.ts'
import { SourceError } from '../source.ts'
import { ArchiveExtras } from './archive-extras.ts'
import { eachAtOnce } from './each-at-once.ts'
import type { ArchiveKeys } from './key-file.ts'
import { ARCHIVE_READS_AT_ONCE } from './limits.ts'
import { exportLines, type PieceContext } from './piece-lines.ts'
import { ArchiveObjects } from './read-objects.ts'
import type { ArchiveSeal } from './seal.ts'
import type { ArchiveReader } from './store.ts'

/**
 * Maximum size of an archive that is verified without threads, in bytes of its objects. For a smaller archive, starting
 * threads takes longer than they save.
 */
const SMALL_BYTES_MAX = 4 * 1024 * 1024

/**
 * Receives content of an archive that an export does not have. The content counts as verified only when the report of
 * the whole ledger is complete.
 */
export type ArchiveObserver = {
  /** Called with the seals (oldest first), the SHA-256 of the newest seal in hex, and the newest checkpoint. */
  seals(seals: readonly ArchiveSeal[], newestDigest: string, note: string): void
  /**
   * Called with the definition of a type. The call comes before the line of the entry at `seq` that registers the
   * type.
   */
  definition(seq: number, definition: string): void
}

/**
 * Returns a ledger's archive (docs/formats/archive.md) as a source of export lines.
 *
 * Without `keys`, documents stay encrypted and count as withheld. If several objects are missing or changed, the first
 * one becomes the finding, and the others become notices.
 */
export function archiveLedger(
  reader: ArchiveReader,
  keys: ArchiveKeys | null,
  observer?: ArchiveObserver,
): LedgerSource {
  return { name: reader.name, open: () => openArchive(new ArchiveObjects(reader), keys, observer) }
}

async function openArchive(
  objects: ArchiveObjects,
  keys: ArchiveKeys | null,
  observer: ArchiveObserver | undefined,
): Promise<OpenLedger> {
  const newest = await objects.readCheckpoint()
  if (newest === null) throw new SourceError('not_a_ledger', `${objects.name} has no archive of a ledger`)
  const { note, size } = newest
  const { seals, newestDigest } = await objects.readSeals(size)
  const { ledger, keys: hints } = seals.at(-1)!
  observer?.seals(seals, newestDigest, note)
  const head = parseExportHead(utf8Encode(JSON.stringify({ export: 1, ledger, keys: hints })))!
  findNamedKeys(head.keys, (await loadProviders()).sha256)
  if (keys !== null && keys.ledger !== head.ledger)
    throw new SourceError(
      'usage',
      `the file of --archive-key belongs to ${keys.ledger}, the archive to ${head.ledger}`,
    )
  const notices = [] as string[]
  if (keys === null)
    notices.push('documents are sealed and were not checked: name the file of their keys with --archive-key')
  const beside = new ArchiveExtras(seals)
  const context: PieceContext = {
    ...{ objects, keys, size, erasures: erasuresOf(seals), unexplained: [], lastBundle: null },
    onDefinition(seq, definition) {
      beside.definition(seq, definition)
      observer?.definition(seq, definition)
    },
  }
  return {
    ledger: head.ledger,
    keys: head.keys,
    documents: keys === null ? 'withheld' : 'all',
    notices,
    total: size,
    isSmall: seals.reduce((sum, seal) => sum + bytesOf(seal), 0) < SMALL_BYTES_MAX,
    ranges: () => readRanges(seals, note, context, notices),
    observer: {
      node: (level, index, hash) => beside.node(level, index, hash),
      gated() {},
      remote() {},
      offer() {},
      erasure() {},
      appended: (step, frontier) => beside.appended(step, frontier),
      finish: async () => beside.finish(),
    },
    async close() {},
  }
}

function bytesOf({ objects }: ArchiveSeal): number {
  return objects.reduce((sum, { bytes }) => sum + bytes, 0)
}

/**
 * Maps each erased document to the seq of the erasing entry. A key of the map is the document's subject and the seq of
 * the entry that contains the document's digest. The erasures come from unverified seals. They are compared with the
 * entries after all entries are verified.
 */
function erasuresOf(seals: readonly ArchiveSeal[]): ReadonlyMap<string, number> {
  return new Map(
    seals.flatMap(({ erasures }) =>
      erasures.map(([subject, digestedBy, seq]) => [`${subject} ${digestedBy}`, seq]),
    ),
  )
}

async function* readRanges(
  seals: readonly ArchiveSeal[],
  note: string,
  context: PieceContext,
  notices: string[],
): AsyncGenerator<EntryRange> {
  const { objects, unexplained } = context
  // All checkpoints of the archive are verified in the same way as an export's checkpoint: the first entry names the
  // key that must have signed them. `note` is included because it may have cosignatures that the newest seal lacks.
  let checkpoints = [...seals.map(({ checkpoint }) => checkpoint), note]
  for (const [i, seal] of seals.entries()) {
    const sealed = { size: seal.size, named: new Map(seal.objects.map((object) => [object.name, object])) }
    for (const piece of seal.pieces) {
      const lines = await exportLines(sealed, piece, context)
      if (lines === null) return refuse(objects, seals.slice(i), notices)
      refuseUnexplained(unexplained)
      yield { lines: ownCopy(lines), checkpoints, rows: null, progress: piece.end }
      checkpoints = []
    }
    await readTiles(objects, seal)
    if (objects.faults.length > 0) return refuse(objects, seals.slice(i + 1), notices)
  }
}

/**
 * Throws SourceError if a document has neither a key nor an erasing entry. The ledger may still be correct, because the
 * erasing entry may come after the newest seal.
 */
function refuseUnexplained([first, ...others]: readonly string[]): void {
  if (first === undefined) return
  throw new SourceError(
    'unavailable',
    `${others.length + 1} documents cannot be opened, such as ${first}, and no archived entry erases them. They may have been erased after the ` +
      'newest seal: verify again after the next seal, or without --archive-key',
  )
}

/**
 * Throws an error for the first faulty object. Before that, checks all remaining objects, so that one run finds
 * everything that needs repair.
 */
async function refuse(
  objects: ArchiveObjects,
  seals: readonly ArchiveSeal[],
  notices: string[],
): Promise<never> {
  for (const seal of seals)
    await eachAtOnce(seal.objects, ARCHIVE_READS_AT_ONCE, (object) => objects.read(object))
  const [first, ...others] = new Set(objects.faults)
  notices.push(...others)
  throw new ProofError('archive_object', first!)
}

/** Reads the hash tiles. Bundles of entries are read together with the pieces. */
async function readTiles(objects: ArchiveObjects, seal: ArchiveSeal): Promise<void> {
  const tiles = seal.objects.filter(
    ({ name }) => name.startsWith('tile/') && !name.startsWith('tile/entries/'),
  )
  await eachAtOnce(tiles, ARCHIVE_READS_AT_ONCE, (object) => objects.read(object))
}
