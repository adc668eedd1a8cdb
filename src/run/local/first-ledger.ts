import { readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeSecretOnce } from './secrets.ts'

/** Content of credentials.json, for clients on this machine. */
type Credentials = {
  readonly url: string
  readonly ledger: string
  readonly agent: string
  readonly key: string
  /** Read-only key of the same agent, for the console. */
  readonly consoleKey: string
}

export type FirstLedger = {
  readonly credentials: Credentials
  /** File with a header for `curl -H @file`, so that users do not have to type a key. */
  readonly headerFile: string
  readonly isNew: boolean
}

export const credentialsFile = (dataDir: string) => join(dataDir, 'credentials.json')
const headerFileOf = (dataDir: string) => join(dataDir, 'authorization-header')

/**
 * Returns the ledger and key that the first start of this installation made. Creates a ledger and a key with the
 * operator's key if none are stored, or if the stored key belongs to another database.
 */
export async function ensureFirstLedger(options: {
  url: string
  dataDir: string
  operatorKey: string
}): Promise<FirstLedger> {
  const { url, dataDir } = options
  const headerFile = headerFileOf(dataDir)
  const kept = readCredentials(dataDir)
  if (kept && (await isKnown(url, kept.key))) return { credentials: kept, headerFile, isNew: false }
  if (kept) renameSync(credentialsFile(dataDir), join(dataDir, `credentials-${kept.ledger}.json`))
  const credentials = await makeLedger(url, options.operatorKey)
  writeSecretOnce(credentialsFile(dataDir), `${JSON.stringify(credentials, null, 2)}\n`)
  rmSync(headerFile, { force: true })
  writeSecretOnce(headerFile, `Authorization: Bearer ${credentials.key}\n`)
  return { credentials, headerFile, isNew: true }
}

function readCredentials(dataDir: string): Credentials | null {
  try {
    return JSON.parse(readFileSync(credentialsFile(dataDir), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new Error(`${credentialsFile(dataDir)} cannot be read: ${(error as Error).message}`)
  }
}

/** Returns false only for status 401, which means that the key belongs to another database. */
async function isKnown(url: string, key: string): Promise<boolean> {
  const response = await fetch(`${url}/v1/ledger`, { headers: { authorization: `Bearer ${key}` } })
  await response.body?.cancel()
  return response.status !== 401
}

async function makeLedger(url: string, operatorKey: string): Promise<Credentials> {
  const response = await fetch(`${url}/v1/ledgers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'first ledger' }),
  })
  if (response.status !== 201) {
    throw new Error(`the first ledger could not be made: ${await describeAnswer(response)}`)
  }
  const made = (await response.json()) as {
    ledger: { id: string }
    agent: { id: string }
    key: { key: string }
  }
  const { key } = made.key
  return {
    url,
    ledger: made.ledger.id,
    agent: made.agent.id,
    key,
    consoleKey: await makeConsoleKey(url, key, made.agent.id),
  }
}

async function makeConsoleKey(url: string, key: string, agent: string): Promise<string> {
  const response = await fetch(`${url}/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'console', agent, scopes: ['records:read', 'audit:read'] }),
  })
  if (response.status !== 201)
    throw new Error(`the key of the console could not be made: ${await describeAnswer(response)}`)
  return ((await response.json()) as { key: string }).key
}

/** Returns the status with title and detail of the problem document, in one line. */
async function describeAnswer(response: Response): Promise<string> {
  const { title, detail } = (await response.json()) as { title?: string; detail?: string }
  return `${response.status} ${[title, detail].filter(Boolean).join(': ')}`
}
