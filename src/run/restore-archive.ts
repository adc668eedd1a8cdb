import { type FileHandle, open, unlink } from 'node:fs/promises'
import type pg from 'pg'
import { withOwner } from '../db/connect/client.ts'
import { classifyFailure } from '../db/connect/failures.ts'
import { withTransaction } from '../db/connect/transaction.ts'
import { findValidKey, insertKeySecret } from '../db/ledgers/restoring.ts'
import { hashKey, makeApiKey, makeKeyMac } from '../ledgers/api-keys.ts'
import { formatId, isId, parseId } from '../proof/ids.ts'
import type { MasterKey } from '../signing/master-key.ts'
import { openArchiveReader, readArchiveKeys } from '../verify/archive/archive-source.ts'
import { readCheckpointFile } from '../verify/checkpoint-file.ts'
import { parseKid } from '../verify/parse-kid.ts'
import { formatReport } from '../verify/report.ts'
import { readConfig } from './config.ts'
import { RESTORE_PROGRESS_MS } from './limits.ts'
import { getMasterKey } from './master-key.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { missingKeys, type Restored, restoreLedger } from './restore/restore-ledger.ts'
import { runsToEnd, UsageError } from './run-to-end.ts'

const HELP = `  --archive PLACE     a directory, s3://bucket/prefix, or a web address
  --ledger ID         the ledger (led_…), which the database must not have
  --archive-key FILE  the keys of its documents, made by archive-keys
  --checkpoint FILE   a checkpoint stored outside, which the archive must extend. Repeatable
  --key KID           the kid (64 hex digits) of the ledger's first envelope key, known from elsewhere. Repeatable
  --accept-loss       restores an archive that ends before a stored checkpoint; you must then acknowledge the loss before the ledger reopens
  --read-only         restores a ledger whose private keys this deployment lacks: it can be read, but never reopened. Without this option
                      such a ledger is refused: bring its keys with move-ledger share-keys before the restore
  --api-key-out FILE  gives one valid API key a new secret and writes it to this new file: all API keys lose their secrets`

/**
 * Command `restore-archive`: uses the owner's login and restores a ledger from its archive into a migrated database
 * that lacks this ledger (docs/operate/backup-and-archive.md#the-archive). All changes are in one transaction. A killed
 * run changes nothing and can be repeated.
 */
export const main = runsToEnd(
  {
    name: 'restore-archive',
    argumentsUsage: '--archive PLACE --ledger ID --archive-key FILE [OPTIONS]',
    help: HELP,
    options: {
      archive: { type: 'string' },
      ledger: { type: 'string' },
      'archive-key': { type: 'string' },
      checkpoint: { type: 'string', multiple: true },
      key: { type: 'string', multiple: true },
      'accept-loss': { type: 'boolean', default: false },
      'read-only': { type: 'boolean', default: false },
      'api-key-out': { type: 'string' },
    },
  },
  async (values) => {
    const { place, ledger, keyFile } = requireSource(values)
    const config = readConfig()
    const masterKey = getMasterKey(config, 'this key seals the keys of documents')
    const restore = {
      ledger,
      masterKey,
      reader: await openArchiveReader(place, ledger, config.s3),
      keys: await readArchiveKeys(keyFile),
      kids: (values.key ?? []).map(parseKid),
      outsideCheckpoints: (await Promise.all((values.checkpoint ?? []).map(readCheckpointFile))).flat(),
      acceptsLoss: values['accept-loss'],
      readOnly: values['read-only'],
      onProgress: tellProgress(),
    }
    const database = getOwnerDatabase(config, 'the database that gets the ledger')
    const { restored, apiKey } = await withNewFile(values['api-key-out'], (file) =>
      withOwner(database, (client) =>
        withTransaction(client, async () => {
          const restored = await restoreLedger(client, restore)
          return { restored, apiKey: file === null ? null : await issueKey(client, ledger, masterKey, file) }
        }),
      ),
    )
    report(ledger, restored, apiKey)
  },
)

type Source = { readonly [Name in 'archive' | 'ledger' | 'archive-key']?: string | undefined }

function requireSource({ archive, ledger, 'archive-key': keyFile }: Source) {
  if (archive === undefined) throw new UsageError('name the archive with --archive')
  if (ledger === undefined || !isId('led', ledger))
    throw new UsageError('name the ledger with --ledger (led_…)')
  if (keyFile === undefined)
    throw new UsageError(
      'name the file of its document keys with --archive-key: without documents there is nothing to restore that verify --archive ' +
        'does not show',
    )
  return { place: archive, ledger, keyFile }
}

function tellProgress(): (entries: number, total: number) => void {
  let reportedMs = performance.now()
  return (entries, total) => {
    if (performance.now() - reportedMs < RESTORE_PROGRESS_MS) return
    reportedMs = performance.now()
    console.error(`${entries} of ${total} entries`)
  }
}

/**
 * Opens the new file for an API key's secret before `work` starts. `work` may take hours, and a file that cannot be
 * created must be reported early. If `work` fails, the file is removed, unless the secret may have been committed.
 */
async function withNewFile<T>(
  path: string | undefined,
  work: (file: FileHandle | null) => Promise<T>,
): Promise<T> {
  if (path === undefined) return work(null)
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'the file exists already: choose another name' : error.message
    throw new UsageError(`--api-key-out ${path}: ${why}`)
  })
  try {
    return await work(file)
  } catch (error) {
    const mayBeValid = classifyFailure(error as Error).kind === 'unknown' && (await file.stat()).size > 0
    if (!mayBeValid) await unlink(path)
    throw error
  } finally {
    await file.close()
  }
}

/**
 * Gives an existing API key a new secret. A new API key is not possible, because it would need an entry, and the ledger
 * is closed. The file is written before the commit.
 */
async function issueKey(
  client: pg.ClientBase,
  ledger: string,
  masterKey: MasterKey,
  file: FileHandle,
): Promise<string> {
  const ledgerId = parseId('led', ledger)
  const found = await findValidKey(client, ledgerId)
  if (!found)
    throw new Error('the ledger has no valid API key that could get a new secret: leave out --api-key-out')
  const { keyId, agentId, scopes, expiresAt } = found
  const secret = makeApiKey(ledgerId)
  const secretHash = hashKey(secret)
  const key = formatId('key', keyId)
  const granted = { ledger, key, agent: formatId('agt', agentId), scopes, secretHash }
  const mac = makeKeyMac(masterKey).of({ ...granted, expiresAtMs: expiresAt?.getTime() ?? null })
  await insertKeySecret(client, ledgerId, { keyId, secretHash, mac, expiresAt })
  await file.writeFile(`${secret}\n`)
  await file.sync()
  return key
}

function report(ledger: string, { report, lost, own }: Restored, apiKey: string | null): void {
  for (const notice of report.notices) console.error(notice)
  if (apiKey !== null) console.log(`${apiKey} has a new secret; the other API keys have none`)
  console.log(formatReport(report))
  const missing = missingKeys(own)
  const canReopen =
    missing.length === 0
      ? 'to reopen it, see docs/operate/backup-and-archive.md'
      : `it cannot be reopened, because this deployment lacks its private ${missing.join(' and ')} key`
  const loss = lost === 0 ? '' : `; ${lost} known entries are lost`
  console.log(`${ledger} is restored and closed: it can be read and accepts no entries${loss}; ${canReopen}`)
}
