import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ReleasedContent } from '../src/db/connect/released-content.ts'
import { formatId, isId } from '../src/proof/ids.ts'
import { archiveLedger } from '../src/verify/archive/archive-ledger.ts'
import { ArchivedContent } from '../src/verify/archive/archived-content.ts'
import { directoryStore } from '../src/verify/archive/directory-store.ts'
import { httpReader } from '../src/verify/archive/http-reader.ts'
import { type ArchiveKeys, parseArchiveKeys } from '../src/verify/archive/key-file.ts'
import { ARCHIVE_KEY_FILE_BYTES_MAX, ARCHIVE_UNHURRIED_MS_MAX } from '../src/verify/archive/limits.ts'
import { openArchiveStores } from '../src/verify/archive/open-stores.ts'
import { CHECKPOINT_OBJECT } from '../src/verify/archive/seal.ts'
import { parseArchivePlace } from '../src/verify/archive/settings.ts'
import type { ArchiveReader } from '../src/verify/archive/store.ts'
import { type LedgerSource, SourceError } from '../src/verify/source.ts'
import { environment } from './environment.ts'
import { parseUrl } from './parse-url.ts'
import { readBytes } from './read-text.ts'
import { UsageError } from './run.ts'
import { displayUrl } from './server-ledger.ts'

type Archive = {
  /** A directory or an address: of a whole archive, or of one ledger in it. */
  readonly place: string
  readonly ledger: string | null
  readonly keyFile: string | null
}

/** A ledger in an archive, with the keys of its documents if there is a file of them. */
export async function openArchiveSource({ place, ledger, keyFile }: Archive): Promise<LedgerSource> {
  if (ledger !== null && !isId('led', ledger))
    throw new UsageError(`${ledger.slice(0, 64)} is not the id of a ledger (led_…)`)
  const keys = keyFile === null ? null : await readArchiveKeys(keyFile)
  return archiveLedger(await openArchiveReader(place, ledger), keys)
}

/** Content that a database has no more, from the archive of all its ledgers. */
export async function openContentOfFile(place: string, keyFile: string): Promise<ReleasedContent> {
  const keys = await readArchiveKeys(keyFile)
  const of = await openReaders(place)
  return new ArchivedContent({
    stores: { of },
    msMax: ARCHIVE_UNHURRIED_MS_MAX,
    openKeys: ({ ledgerId, from }) =>
      formatId('led', ledgerId) === keys.ledger ? (keys.pieces.get(from) ?? null) : null,
  })
}

/** The keys of a file that `archive-keys` has written. Throws SourceError. */
export async function readArchiveKeys(path: string): Promise<ArchiveKeys> {
  return parseArchiveKeys(Buffer.from(await readBytes(path, ARCHIVE_KEY_FILE_BYTES_MAX)).toString('utf8'))
}

/** Throws UsageError where the place is none. */
export async function openArchiveReader(place: string, ledger: string | null): Promise<ArchiveReader> {
  const url = parseAddress(place)
  if (url === null) return directoryStore(await chooseDirectory(place, ledger))
  if (url.protocol === 'file:') return directoryStore(await chooseDirectory(fileURLToPath(url), ledger))
  return (await openReaders(place))(ledger)
}

/** Readers of an archive's ledgers; null: the place is that of one. Throws UsageError where it is none. */
async function openReaders(place: string): Promise<(ledger: string | null) => ArchiveReader> {
  const url = parseAddress(place)
  switch (url?.protocol) {
    case 'http:':
    case 'https:':
      return (ledger) => {
        const base = new URL(ledger ?? '.', url!.href.replace(/\/*$/, '/'))
        return httpReader(base, displayUrl(base.href))
      }
    case undefined:
    case 'file:':
    case 's3:': {
      const stores = await openArchiveStores(
        url === null ? { kind: 'directory', directory: place } : parsePlace(place),
      )
      return (ledger) => stores.of(ledger ?? '')
    }
    default:
      throw new UsageError(
        '--archive takes a directory, or an address that begins with file://, http://, https:// or s3://',
      )
  }
}

/** null: it is a path. */
function parseAddress(place: string): URL | null {
  return /^[a-z][a-z0-9+.-]*:\/\//.test(place) ? parseUrl(place) : null
}

function parsePlace(place: string) {
  try {
    return parseArchivePlace(place, environment.s3Settings())
  } catch (error) {
    throw new UsageError(`--archive ${(error as Error).message}`)
  }
}

/** The directory of the ledger: the one that is named, the place itself, or the only one in it. */
async function chooseDirectory(place: string, ledger: string | null): Promise<string> {
  if (ledger !== null) return join(place, ledger)
  const names = await readdir(place).catch((error: NodeJS.ErrnoException) => {
    throw new SourceError('io', `${place} cannot be read (${error.code})`)
  })
  if (names.includes(CHECKPOINT_OBJECT)) return place
  const ledgers = names.filter((name) => isId('led', name))
  if (ledgers.length === 1) return join(place, ledgers[0]!)
  if (ledgers.length === 0) throw new SourceError('not_a_ledger', `${place} holds no archive of a ledger`)
  const shown = ledgers.slice(0, 20).join('\n  ')
  throw new UsageError(`${place} holds ${ledgers.length} ledgers: choose one with --ledger\n  ${shown}`)
}
