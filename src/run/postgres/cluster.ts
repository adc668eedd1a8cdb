import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { clusterDir, passwordsFile } from './layout.ts'
import { type RunAs, removeDir, runSync } from './run-as.ts'

type ClusterPasswords = { readonly superuser: string; readonly owner: string }

/**
 * Returns the cluster's passwords. The first start creates them before the cluster, so that a crash cannot leave a
 * cluster without passwords.
 */
export function getPasswords(dataDir: string): ClusterPasswords {
  const file = passwordsFile(dataDir)
  if (!existsSync(file)) {
    if (existsSync(clusterDir(dataDir))) {
      throw new Error(
        `${file} is missing: without it nobody can log in to ${clusterDir(dataDir)}. Restore it from a backup`,
      )
    }
    const passwords: ClusterPasswords = { superuser: makePassword(), owner: makePassword() }
    const temporary = `${file}.new-${process.pid}`
    writeFileSync(temporary, `${JSON.stringify(passwords)}\n`, { mode: 0o600, flush: true })
    linkOnce(temporary, file)
    rmSync(temporary)
  }
  return JSON.parse(readFileSync(file, 'utf8'))
}

/**
 * Makes a hard link if the name is free. If two first starts run at the same time, one writes the passwords, and both
 * read them.
 */
function linkOnce(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Returns a random password in hex, because hex needs no escaping in a URL. */
const makePassword = () => randomBytes(24).toString('hex')

/** Makes the cluster atomically if there is none. Returns true if it made the cluster. */
export function initCluster(options: {
  dataDir: string
  binDir: string
  runAs: RunAs
  passwords: ClusterPasswords
  sync: boolean
}): boolean {
  const { dataDir, runAs } = options
  const cluster = clusterDir(dataDir)
  if (existsSync(join(cluster, 'PG_VERSION'))) return false
  const temporary = `${cluster}.new-${process.pid}`
  const passwordFile = join(dataDir, `password.new-${process.pid}`)
  try {
    removeDir(temporary)
    mkdirSync(temporary)
    chmodSync(temporary, 0o700)
    writeFileSync(passwordFile, options.passwords.superuser, { mode: 0o600 })
    if (runAs !== null) for (const path of [temporary, passwordFile]) chownSync(path, runAs.uid, runAs.gid)
    const sync = options.sync ? [] : ['--no-sync']
    const result = runSync(
      join(options.binDir, 'initdb'),
      [...initdbArgs(temporary, passwordFile), ...sync],
      runAs,
    )
    if (!result.ok) throw new Error(`initdb failed:\n${result.output}`)
    moveIntoPlace(temporary, cluster)
  } finally {
    rmSync(passwordFile, { force: true })
    removeDir(temporary)
  }
  return true
}

/** Renames the cluster to its final name. If another first start was faster, that start's cluster is used. */
function moveIntoPlace(temporary: string, cluster: string): void {
  try {
    renameSync(temporary, cluster)
  } catch (error) {
    if (!existsSync(join(cluster, 'PG_VERSION'))) throw error
  }
}

/**
 * Returns the arguments of initdb. The locale is C, because the order of an index must not depend on the machine's C
 * library.
 */
function initdbArgs(dir: string, passwordFile: string): string[] {
  return [
    `--pgdata=${dir}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--data-checksums',
  ]
}
