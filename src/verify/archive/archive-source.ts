import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ArchiveContent } from '../../db/connect/archive.ts'
import { formatId, isId } from '../../proof/ids.ts'
import { readBytes } from '../read-text.ts'
import { displayUrl, type LedgerSource, SourceError } from '../source.ts'
import { archiveLedger } from './archive-ledger.ts'
import { ArchivedContent } from './archived-content.ts'
import { directoryStore } from './directory-store.ts'
import { httpReader } from './http-reader.ts'
import { type ArchiveKeys, parseArchiveKeys } from './key-file.ts'
import { ARCHIVE_KEY_FILE_BYTES_MAX, ARCHIVE_UNHURRIED_MS_MAX } from './limits.ts'
import { openArchiveStores } from './open-stores.ts'
import { CHECKPOINT_OBJECT } from './seal.ts'
import { parseArchiveLocation, type S3Settings } from './settings.ts'
import type { ArchiveReader } from './store.ts'

type Archive = {
  /** Directory or address of a whole archive, or of one ledger in it. */
  readonly location: string
  readonly ledger: string | null
  readonly keyFile: string | null
  readonly s3: S3Settings
}

/** Opens a ledger in an archive. With a key file, its documents are opened too. Throws SourceError. */
export async function openArchiveSource({ location, ledger, keyFile, s3 }: Archive): Promise<LedgerSource> {
  if (ledger !== null && !isId('led', ledger))
    throw new SourceError('usage', `${ledger.slice(0, 64)} is not the id of a ledger (led_…)`)
  const keys = keyFile === null ? null : await readArchiveKeys(keyFile)
  return archiveLedger(await openArchiveReader(location, ledger, s3), keys)
}

/**
 * Opens an archive to read content that is no longer in the database. Documents can be read only of the key file's
 * ledger. Throws SourceError.
 */
export async function openContentOfFile(
  location: string,
  keyFile: string,
  s3: S3Settings,
): Promise<ArchiveContent> {
  const keys = await readArchiveKeys(keyFile)
  const of = await openReaders(location, s3)
  return new ArchivedContent({
    stores: { of },
    msMax: ARCHIVE_UNHURRIED_MS_MAX,
    openKeys: ({ ledgerId, from }) =>
      formatId('led', ledgerId) === keys.ledger ? (keys.pieces.get(from) ?? null) : null,
  })
}

/** Reads a key file written by `archive-keys`. Throws SourceError. */
export async function readArchiveKeys(path: string): Promise<ArchiveKeys> {
  return parseArchiveKeys(Buffer.from(await readBytes(path, ARCHIVE_KEY_FILE_BYTES_MAX)).toString('utf8'))
}

/** Opens a reader of one ledger's archive. Throws SourceError if `location` is neither a directory nor an address. */
export async function openArchiveReader(
  location: string,
  ledger: string | null,
  s3: S3Settings,
): Promise<ArchiveReader> {
  const url = parseAddress(location)
  if (url === null) return directoryStore(await chooseDirectory(location, ledger))
  if (url.protocol === 'file:') return directoryStore(await chooseDirectory(fileURLToPath(url), ledger))
  return (await openReaders(location, s3))(ledger)
}

/**
 * Returns a function that opens the reader of a ledger. If the function gets null, `location` itself is the archive of
 * one ledger. Throws SourceError if `location` is neither a directory nor an address.
 */
async function openReaders(
  location: string,
  s3: S3Settings,
): Promise<(ledger: string | null) => ArchiveReader> {
  const url = parseAddress(location)
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
        url === null ? { kind: 'directory', directory: location } : parseLocation(location, s3),
      )
      return (ledger) => stores.of(ledger ?? '')
    }
    default:
      throw new SourceError(
        'usage',
        '--archive needs a directory, or an address that begins with file://, http://, https:// or s3://',
      )
  }
}

/** Parses an address. Returns null if the location is a path. */
function parseAddress(location: string): URL | null {
  return /^[a-z][a-z0-9+.-]*:\/\//.test(location) && URL.canParse(location) ? new URL(location) : null
}

function parseLocation(location: string, s3: S3Settings) {
  try {
    return parseArchiveLocation(location, s3)
  } catch (error) {
    throw new SourceError('usage', `--archive ${(error as Error).message}`)
  }
}

/**
 * Returns the directory of a ledger's archive. This is the directory of the named ledger, `location` itself, or, if
 * `location` contains only one ledger, the directory of this ledger.
 */
async function chooseDirectory(location: string, ledger: string | null): Promise<string> {
  if (ledger !== null) return join(location, ledger)
  const names = await readdir(location).catch((error: NodeJS.ErrnoException) => {
    throw new SourceError('io', `${location} cannot be read (${error.code})`)
  })
  if (names.includes(CHECKPOINT_OBJECT)) return location
  const ledgers = names.filter((name) => isId('led', name))
  if (ledgers.length === 1) return join(location, ledgers[0]!)
  if (ledgers.length === 0) throw new SourceError('not_a_ledger', `${location} has no archive of a ledger`)
  const shown = ledgers.slice(0, 20).join('\n  ')
  throw new SourceError(
    'usage',
    `${location} has ${ledgers.length} ledgers: choose one with --ledger\n  ${shown}`,
  )
}
