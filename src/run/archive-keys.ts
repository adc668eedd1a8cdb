import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { type ArchiveKeyPlace, listArchiveKeys } from '../db/chain/archives.ts'
import { withClient } from '../db/connect/client.ts'
import { formatId, isId, parseId, type Uuid } from '../proof/ids.ts'
import { archiveKeyContext } from '../signing/archive-keys.ts'
import type { MasterKey } from '../signing/master-key.ts'
import { makeMasterKeys } from '../signing/master-keys.ts'
import { formatArchiveKeys } from '../verify/archive/key-file.ts'
import { parseConfig, required } from './config.ts'
import { ARCHIVE_KEYS_PER_QUERY } from './limits.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { runToEnd, UsageError } from './run-to-end.ts'

const USAGE = `usage: archive-keys --out DIR [--ledger ID], or npm run archive-keys -- …

  --out DIR    a file for each ledger that is archived, readable by its owner only, in the place of one from before
  --ledger ID  this one only (led_…)`

/**
 * `npm run archive-keys`: as the owner, writes the keys of archived documents, for `tallystick verify --archive --archive-key`. A file
 * opens what was not erased when it was written: files from before are to be destroyed, as backups are.
 */
export function main(args: readonly string[]): Promise<void> {
  return runToEnd('archive-keys', USAGE, async () => {
    const { values } = parseArgs({
      args: [...args],
      options: { out: { type: 'string' }, ledger: { type: 'string' } },
    })
    if (values.out === undefined) throw new UsageError('say with --out where to')
    const { ledger } = values
    if (ledger !== undefined && !isId('led', ledger))
      throw new UsageError('--ledger takes the id of a ledger (led_…)')
    const config = parseConfig(process.env)
    const masterKey = makeMasterKeys(
      required(config.masterKey, 'TALLYSTICK_MASTER_KEY', 'it opens the keys of documents'),
      config.previousMasterKey,
    )
    const directory = resolve(values.out)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await withClient(getOwnerDatabase(config), async (client) => {
      const ledgerId = ledger === undefined ? null : parseId('led', ledger)
      for await (const { id, pieces } of readLedgers(client, masterKey, ledgerId)) {
        const name = formatId('led', id)
        await writeSecret(join(directory, `${name}.json`), formatArchiveKeys(name, pieces))
        console.log(`${name} pieces=${pieces.length}`)
      }
    })
  })
}

type Piece = { readonly from: number; readonly packed: Buffer }

/** One ledger after another, each with all of its pieces. */
async function* readLedgers(client: pg.Client, masterKey: MasterKey, ledgerId: Uuid | null) {
  let after: ArchiveKeyPlace | null = null
  let ledger = null as { id: Uuid; pieces: Piece[] } | null
  for (;;) {
    const rows = await listArchiveKeys(client, ledgerId, after, ARCHIVE_KEYS_PER_QUERY)
    for (const { ledgerId: id, fromSeq, sealed } of rows) {
      if (ledger?.id !== id) {
        if (ledger !== null) yield ledger
        ledger = { id, pieces: [] }
      }
      ledger.pieces.push({ from: fromSeq, packed: masterKey.open(sealed, archiveKeyContext(id, fromSeq)) })
    }
    after = rows.at(-1) ?? null
    if (after === null) break
  }
  if (ledger !== null) yield ledger
}

async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
}

if (import.meta.main) await main(process.argv.slice(2))
