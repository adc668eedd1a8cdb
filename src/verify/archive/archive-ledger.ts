import { alone } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { parseExportHead } from '../../proof/ledger/export-ends.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import type { EntryPortion, LedgerSource, OpenLedger } from '../source.ts'
import { SourceError } from '../source.ts'
import { eachAtOnce } from './each-at-once.ts'
import type { ArchiveKeys } from './key-file.ts'
import { ARCHIVE_READS_AT_ONCE } from './limits.ts'
import { exportLines, type PieceContext } from './piece-lines.ts'
import { ArchiveObjects } from './read-objects.ts'
import { type ArchiveSeal, tileName, tilesBetween } from './seal.ts'
import type { ArchiveReader } from './store.ts'
import { TileDigests } from './tile-digests.ts'

/** Bytes of all objects. Below this, starting threads would take longer than they save. */
const SMALL_BYTES_MAX = 4 * 1024 * 1024

/** Hears of content of an archive that no export has. None of it is verified. */
export type ArchiveObserver = {
  /** Seals, the oldest first, and the newest checkpoint. */
  seals(seals: readonly ArchiveSeal[], note: string): void
  /** Definition of the type that the entry at `seq` registers, before the entry's line is given. */
  definition(seq: number, definition: string): void
}

/**
 * The archive of a ledger (docs/formats/archive.md), as an export of it. Without `keys` its documents are sealed, and count as withheld.
 * Each object that is missing or another one is named: the first is the finding, and the others are notices.
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
  const note = await objects.readCheckpoint()
  if (note === null) throw new SourceError('not_a_ledger', `${objects.name} holds no archive of a ledger`)
  const { size } = parseCheckpoint(note).checkpoint
  const seals = await objects.readSeals(size)
  const newest = seals.at(-1)!
  observer?.seals(seals, note)
  const head = parseExportHead(JSON.stringify({ export: 1, ledger: newest.ledger, keys: newest.keys }))
  if (keys !== null && keys.ledger !== head.ledger)
    throw new SourceError(
      'usage',
      `the file of --archive-key is of ${keys.ledger}, and the archive of ${head.ledger}`,
    )
  const notices = [] as string[]
  if (keys === null)
    notices.push('documents are sealed, and were not shown: name their keys with --archive-key')
  const tiles = new TileDigests(seals.map((seal) => seal.size))
  const context = {
    ...{ objects, keys, size, erasures: erasuresOf(seals), unexplained: [] as string[] },
    onDefinition: observer?.definition,
  }
  return {
    ledger: head.ledger,
    keys: head.keys,
    documents: keys === null ? 'withheld' : 'all',
    notices,
    total: size,
    isSmall: seals.reduce((sum, seal) => sum + bytesOf(seal), 0) < SMALL_BYTES_MAX,
    portions: () => readPortions(seals, note, context, notices),
    observer: {
      node: (level, index, hash) => tiles.node(level, index, hash),
      gated() {},
      remote() {},
      offer() {},
      erasure() {},
      appended: (step, frontier) => tiles.leaf(step.leaf, frontier),
      finish: async () => verifyTiles(seals, tiles),
    },
    async close() {},
  }
}

function bytesOf({ objects }: ArchiveSeal): number {
  return objects.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Which entry erases what, by subject and the entry that digests it. Hints: a false one is found, as a false line of an export is. */
function erasuresOf(seals: readonly ArchiveSeal[]): ReadonlyMap<string, number> {
  return new Map(
    seals.flatMap(({ erasures }) =>
      erasures.map(([subject, digestedBy, seq]) => [`${subject} ${digestedBy}`, seq]),
    ),
  )
}

async function* readPortions(
  seals: readonly ArchiveSeal[],
  note: string,
  context: PieceContext & { readonly unexplained: string[] },
  notices: string[],
): AsyncGenerator<EntryPortion> {
  const { objects, unexplained } = context
  for (const [i, seal] of seals.entries()) {
    // The object may have got cosignatures that the seal was made without.
    let checkpoints = [i === seals.length - 1 ? note : seal.checkpoint]
    for (const piece of seal.pieces) {
      const lines = await exportLines(seal, piece, context)
      if (lines === null) return refuse(objects, seals.slice(i), notices)
      refuseUnexplained(unexplained)
      yield { lines: alone(lines), checkpoints, rows: null, progress: piece.end }
      checkpoints = []
    }
    await checkTiles(objects, seal)
    if (objects.faults.length > 0) return refuse(objects, seals.slice(i + 1), notices)
  }
}

/** A document without a key, and without an entry that says why, is no finding: the entry may stand behind the newest seal. */
function refuseUnexplained([first, ...others]: readonly string[]): void {
  if (first === undefined) return
  throw new SourceError(
    'unavailable',
    `${others.length + 1} documents cannot be opened, such as ${first}, and no archived entry erases them. Were they erased after the ` +
      'newest seal? Look again after the next one, or verify without --archive-key',
  )
}

/** Looks at what is left, so that one look finds all that is to be mended. Throws. */
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

/** Hash tiles, and bundles that no piece was read by. */
async function checkTiles(objects: ArchiveObjects, seal: ArchiveSeal): Promise<void> {
  const tiles = seal.objects.filter(
    ({ name }) => name.startsWith('tile/') && !name.startsWith('tile/entries/'),
  )
  await eachAtOnce(tiles, ARCHIVE_READS_AT_ONCE, (object) => objects.read(object))
}

/** Throws unless each tile holds the hashes of the ledger that was verified. */
function verifyTiles(seals: readonly ArchiveSeal[], tiles: TileDigests): void {
  for (const { from, size, objects } of seals) {
    const named = new Map(objects.map(({ name, sha256 }) => [name, sha256]))
    for (const address of tilesBetween(from, size)) {
      const name = tileName(address)
      if (address.level !== 'entries' && named.get(name) !== tiles.find(name))
        throw new ProofError('archive_object', `${name} holds other hashes than those of the entries`)
    }
  }
}
