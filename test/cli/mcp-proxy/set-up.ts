import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { TestApp } from '../../helpers/app.ts'
import { listStoredRecords } from '../../helpers/batch-records.ts'
import { CLI } from '../../helpers/run-cli.ts'
import { until } from '../../helpers/wait.ts'

export const SERVER = fileURLToPath(new URL('./server.ts', import.meta.url))

/** Returns the ledger's actions, outcomes and approvals, in order. */
export async function deedsOf(app: Pick<TestApp, 'sql' | 'ledgerId'>) {
  return (await listStoredRecords(app)).map(({ type, payload, recordId, parentId, traceparent }) => ({
    type,
    payload,
    recordId,
    parentId,
    traceparent,
  }))
}

export async function waitForDeeds(app: Pick<TestApp, 'sql' | 'ledgerId'>, count: number) {
  let deeds = await deedsOf(app)
  await until(async () => {
    deeds = await deedsOf(app)
    return deeds.length >= count
  })
  return deeds
}

type Deed = Awaited<ReturnType<typeof deedsOf>>[number]

export async function waitForDeed(
  app: Pick<TestApp, 'sql' | 'ledgerId'>,
  isIt: (deed: Deed) => boolean,
): Promise<Deed> {
  let found: Deed | undefined
  await until(async () => {
    found = (await deedsOf(app)).find(isIt)
    return found !== undefined
  })
  return found!
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable>

export function start(t: TestContext, args: readonly string[], env: Record<string, string>): Child {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  return child
}

export async function end(child: Child) {
  const [code] = (await once(child, 'close')) as [number | null]
  return code
}

/** Counts the unsent records in an outbox. */
export function waiting(directory: string): number {
  const names = readdirSync(directory, { recursive: true }) as string[]
  const files = names.filter((name) => name.endsWith('.ndjson') && name !== 'handles.ndjson')
  const lines = files.flatMap((name) => readIfThere(join(directory, name)).split('\n'))
  return lines.filter((line) => line.includes('"record":')).length
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // The sender removed the file after this function had listed the folder.
  }
}

export const spoolIn = (directory: string) => join(directory, 'outbox')
