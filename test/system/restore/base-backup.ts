import { chownSync, cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { resolveRunAs } from '../../../src/run/postgres/run-as.ts'

/*
 * Makes a base backup as pg_basebackup does, with Postgres' low-level API (pg_backup_start, copy, pg_backup_stop). The
 * embedded Postgres does not include pg_basebackup, and the pg_basebackup of another version is incompatible.
 */

/**
 * Creates a folder that the server may write. Returns settings with which the server archives its WAL in the folder.
 */
export function makeArchive(dir: string): Record<string, string> {
  mkdirSync(dir, { mode: 0o700 })
  giveToServer(dir)
  return {
    archive_mode: 'on',
    archive_command: `test ! -f ${dir}/%f && cp %p ${dir}/%f`,
    checkpoint_timeout: '5min',
  }
}

/**
 * Returns settings for a server that starts on a base backup and recovers from an archive. The recovery ends at the
 * time `until`. If `until` is null, it ends where the archive ends.
 */
export function recoverySettings(archive: string, until: Date | null): Record<string, string> {
  return {
    restore_command: `cp ${archive}/%f %p`,
    recovery_target_action: 'promote',
    ...(until && {
      // The setting accepts a time only without T and Z.
      recovery_target_time: `${until.toISOString().replace('T', ' ').replace('Z', '')}+00`,
    }),
  }
}

/** Copies the cluster of a running server into the folder `to`. A server can start on the copy and recover. */
export async function takeBaseBackup(superuserUrl: string, cluster: string, to: string): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    await client.query("select pg_backup_start('restore drill', fast => true)")
    copyCluster(cluster, to)
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => true)',
    )
    for (const [name, text] of [
      ['backup_label', rows[0]!.labelfile],
      ['recovery.signal', ''],
    ] as const) {
      writeFileSync(join(to, name), text, { mode: 0o600 })
      giveToServer(join(to, name))
    }
  })
}

/**
 * Folders and files of a running server that a backup leaves out. The WAL comes from the archive. All other files here
 * are useful only while the server runs.
 */
const OWN_FOLDERS = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
])
const OWN_FILES = new Set(['postmaster.pid', 'postmaster.opts', 'recovery.signal', 'standby.signal'])

function copyCluster(from: string, to: string, depth = 0): void {
  mkdirSync(to, { mode: 0o700 })
  giveToServer(to)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) {
      if (depth === 0 && OWN_FOLDERS.has(entry.name)) makeEmpty(target)
      else copyCluster(source, target, depth + 1)
    } else if (depth > 0 || !OWN_FILES.has(entry.name)) {
      copyFile(source, target)
    }
  }
}

function makeEmpty(dir: string): void {
  mkdirSync(dir, { mode: 0o700 })
  giveToServer(dir)
}

/** Copies a file. The file may vanish during the copy, because the server runs. Then the WAL contains the removal. */
function copyFile(source: string, target: string): void {
  try {
    writeFileSync(target, readFileSync(source), { mode: lstatSync(source).mode & 0o777 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  giveToServer(target)
}

/**
 * Makes the server's user the owner. If root runs the tests, Postgres runs as another user and accepts only that user's
 * files.
 */
function giveToServer(path: string): void {
  user ??= { runAs: resolveRunAs('/nonexistent', () => {}) }
  if (user.runAs) chownSync(path, user.runAs.uid, user.runAs.gid)
}
let user: { readonly runAs: ReturnType<typeof resolveRunAs> } | undefined

/** Copies a base backup to the folder in which a new server starts. The backup can be restored again. */
export function restoreBaseBackup(backup: string, passwords: string, dataDir: string): void {
  mkdirSync(dataDir, { mode: 0o711, recursive: true })
  cpSync(passwords, join(dataDir, 'passwords.json'))
  copyCluster(backup, join(dataDir, 'cluster'), 1)
}

const ARCHIVED_MS_MAX = 30_000

/** Closes the current WAL file. Resolves when the file is in the archive. */
export async function archiveEverything(superuserUrl: string): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    const { rows } = await client.query<{ segment: string }>(
      'select pg_walfile_name(pg_switch_wal()) as segment',
    )
    const giveUpAt = Date.now() + ARCHIVED_MS_MAX
    for (;;) {
      const archived = await client.query<{ done: boolean }>(
        'select coalesce(last_archived_wal >= $1, false) as done from pg_stat_archiver',
        [rows[0]!.segment],
      )
      if (archived.rows[0]!.done) return
      if (Date.now() > giveUpAt) throw new Error(`${rows[0]!.segment} is not archived`)
      await sleep(50)
    }
  })
}
