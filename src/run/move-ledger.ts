import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type pg from 'pg'
import { withOwner } from '../db/connect/client.ts'
import type { Database } from '../db/connect/connection.ts'
import {
  activateLedger,
  copyLedger,
  deleteLedger,
  digestRows,
  isKeyRetired,
  type LedgerState,
  listTenantTables,
  lockMoves,
  readCompatibility,
  readLedgerState,
  setClosed,
  shareServerKeys,
  waitForWriters,
} from '../db/ledgers/moving.ts'
import { getNoteKeySecret } from '../db/schema/server-keys.ts'
import { isId, parseId, type Uuid } from '../proof/ids.ts'
import { database } from '../verify/database.ts'
import { formatReport } from '../verify/report.ts'
import { verifyLedger } from '../verify/verify-ledger.ts'
import { openContentForCommand } from './archived-content.ts'
import { type Config, readConfig } from './config.ts'
import { getMasterKey } from './master-key.ts'
import { getOwnerDatabase, getTargetDatabase } from './owner-database.ts'
import { runsToEnd, UsageError } from './run-to-end.ts'

const HELP = `  LEDGER            moves the ledger from DATABASE_URL to TALLYSTICK_TARGET_DATABASE_URL; run it again to continue after a crash
  --switch COMMAND  shell command that sends requests of the ledger to the target; run when the target has the ledger; gets the variable LEDGER
  finish LEDGER     ends a move without --switch, after you have sent requests to the target: the source answers 421 from then on
  undo LEDGER       opens the ledger at the source again, if nothing was written at the target
  forget LEDGER     removes the rest of a moved ledger from the source
  share-keys        copies the keys of the source to a target without ledgers, so that ledgers can be moved to it`

const run = promisify(execFile)

type Move = {
  readonly ledger: string
  readonly ledgerId: Uuid
  readonly source: pg.Client
  readonly target: pg.Client
  readonly targetDatabase: Database
}

/**
 * Command `move-ledger`: uses the logins of both databases' owners and moves a ledger between running deployments
 * (docs/operate/capacity.md#several-deployments-behind-one-address). After a crash, run it again. It continues where it
 * stopped, because the chain heads of both databases contain the progress.
 */
export const main = runsToEnd(
  {
    name: 'move-ledger',
    argumentsUsage: 'LEDGER [--switch COMMAND] | COMMAND',
    help: HELP,
    options: { switch: { type: 'string' } },
    positionals: true,
  },
  async (values, words) => {
    const work = chooseOperation(words, values.switch)
    const config = readConfig()
    const targetDatabase = getTargetDatabase(config, await openContentForCommand(config))
    await withOwner(getOwnerDatabase(config, 'the database that has the ledger'), (source) =>
      withOwner(targetDatabase, async (target) => {
        for (const client of [source, target]) await lockMoves(client)
        await requireSameDeployment(config, source, target, words[0] === 'share-keys')
        await work(source, target, targetDatabase)
      }),
    )
  },
)

type Operation = (source: pg.Client, target: pg.Client, targetDatabase: Database) => Promise<void>

function chooseOperation(names: readonly string[], command: string | undefined): Operation {
  const [first, second] = names
  if (first === 'share-keys' && names.length === 1) return shareKeys
  const works = { finish, undo, forget }
  const named = Object.entries(works).find(([name]) => name === first)?.[1]
  const ledger = named ? second : first
  if (ledger === undefined || names.length !== (named ? 2 : 1) || !isId('led', ledger))
    throw new UsageError('name one ledger (led_…)')
  const ledgerId = parseId('led', ledger)
  return (source, target, targetDatabase) => {
    const move = { ledger, ledgerId, source, target, targetDatabase }
    return named ? named(move) : moveLedger(move, command)
  }
}

/**
 * Moves a ledger: closes it at the source, copies and verifies it, opens the copy at the target, switches requests, and
 * marks the source as `moved`.
 */
async function moveLedger(move: Move, command: string | undefined): Promise<void> {
  const { ledger, ledgerId, source, target } = move
  const [here, there] = await readBoth(move)
  if (here === null) throw new Error(`the source has no ledger ${ledger}`)
  if (here.closed === 'moved' && there?.closed === null) return console.log(`${ledger} has already moved`)
  if (here.closed !== null && here.closed !== 'moving')
    throw new Error(`${ledger} is ${here.closed} at the source: open the ledger there before the move`)
  if (
    there?.closed === 'frozen' ||
    there?.closed === 'restored' ||
    (there?.closed === null && here.closed === null)
  )
    throw new Error(`the target already has a ledger ${ledger} that was not copied by a move`)
  if (there?.closed !== null) {
    if (await isKeyRetired(source, target, ledgerId))
      throw new Error(
        `the target has retired the key that signs ${ledger}: run rotate-key at the source, and move the ledger when it has the new key (docs/operate/capacity.md#moving-a-ledger)`,
      )
    if (there?.closed === 'moving') await refuseGrown(move, here)
    await setClosed(source, ledgerId, [null, 'moving'], 'moving')
    await waitForWriters(source)
    console.log(`${ledger} is closed at the source, which answers writes with 503 ledger_moving`)
    console.log(`copied rows=${await copyLedger(source, target, ledgerId)}`)
    await verifyCopy(move)
    await activateLedger(target, ledgerId)
  }
  console.log(`${ledger} is open at the target`)
  if (command === undefined) {
    console.log(`now send requests of this ledger to the target, then run: move-ledger finish ${ledger}`)
    return
  }
  // The id needs no quotes, because it has only letters and digits. The buffer is unlimited, so that a command with
  // much output is not killed.
  await run('sh', ['-c', `export LEDGER=${ledger}; ${command}`], { maxBuffer: Number.POSITIVE_INFINITY })
  await finish(move)
}

/**
 * Throws if the databases have different rows, or if the copy does not verify from its first entry against its newest
 * checkpoint.
 */
async function verifyCopy({ ledger, ledgerId, source, target, targetDatabase }: Move): Promise<void> {
  for (const table of await listTenantTables(source)) {
    const [there, here] = await Promise.all([target, source].map((db) => digestRows(db, table, ledgerId)))
    if (there !== here) throw new Error(`${table.name}: the source has ${here}, the target ${there}`)
  }
  const report = await verifyLedger(database(targetDatabase, ledger), { lateTail: 'noticed' })
  console.log(formatReport(report))
  if (!report.ok)
    throw new Error(`${ledger} does not verify at the target: run undo, then mend the ledger at the source`)
}

async function finish(move: Move): Promise<void> {
  const { ledger, ledgerId, source } = move
  const [here, there] = await readBoth(move)
  if (there?.closed !== null) throw new Error(`${ledger} is not open at the target`)
  if (here === null) throw new Error(`the source has no ledger ${ledger}`)
  await setClosed(source, ledgerId, ['moving'], 'moved')
  console.log(`${ledger} has moved: the source answers writes with 421 ledger_moved`)
}

/**
 * Throws if the target has more entries than the source. In this case, first opens the target again, because an undo
 * that was killed may have closed the target.
 */
async function refuseGrown(
  { ledger, ledgerId, target }: Move,
  here: NonNullable<LedgerState>,
): Promise<void> {
  await waitForWriters(target)
  const { size } = (await readLedgerState(target, ledgerId))!
  if (size <= here.size) return
  await setClosed(target, ledgerId, ['moving'], null)
  throw new Error(
    `${ledger} has ${size - here.size} more entries at the target: move the ledger back instead`,
  )
}

/** Undoes a move. The target is closed first, so that source and target are never open together. */
async function undo(move: Move): Promise<void> {
  const { ledger, ledgerId, source, target } = move
  const [here, there] = await readBoth(move)
  if (here === null || (here.closed !== 'moving' && here.closed !== 'moved'))
    throw new Error(`${ledger} is not being moved from the source`)
  if (there?.closed === null) await setClosed(target, ledgerId, [null], 'moving')
  if (there) {
    await refuseGrown(move, here)
    await setClosed(target, ledgerId, ['moving', 'moved'], 'moved')
  }
  await setClosed(source, ledgerId, ['moving', 'moved'], null)
  console.log(`${ledger} is open at the source again: send requests of this ledger to the source`)
}

async function forget(move: Move): Promise<void> {
  const { ledger, ledgerId, source } = move
  const [here, there] = await readBoth(move)
  if (here?.closed !== 'moved' || there?.closed !== null)
    throw new Error(`${ledger} has not moved from the source to the target`)
  await deleteLedger(source, ledgerId)
  console.log(
    `${ledger} is removed from the source; now delete its file in TALLYSTICK_DATA/checkpoints of the worker there`,
  )
}

const shareKeys: Operation = async (source, target) => {
  await shareServerKeys(source, target)
  console.log('the target has the keys of the source: restart its servers and workers')
}

async function readBoth({ ledgerId, source, target }: Move): Promise<[LedgerState, LedgerState]> {
  return [await readLedgerState(source, ledgerId), await readLedgerState(target, ledgerId)]
}

/**
 * Throws if the deployments have different master keys, note keys or schemas. `mayDiffer`: true if the note keys may
 * differ.
 */
async function requireSameDeployment(
  config: Config,
  source: pg.Client,
  target: pg.Client,
  mayDiffer: boolean,
): Promise<void> {
  const masterKey = getMasterKey(config, 'both deployments must have the same master key')
  for (const client of [source, target]) await getNoteKeySecret(client, masterKey)
  const [here, there] = [await readCompatibility(source), await readCompatibility(target)]
  if (here.schema !== there.schema)
    throw new Error('the databases have different schemas: migrate both first')
  if (here.noteKid !== there.noteKid && !mayDiffer)
    throw new Error('the deployments sign checkpoints with different keys: run move-ledger share-keys first')
}
