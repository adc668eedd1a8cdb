/*
 * npm run drill -- schemathesis [options of `schemathesis run`]
 *
 * Sends valid and invalid requests, made from /openapi.json, to a running server. Checks every answer against that
 * document. Uses a ledger's key and the operator's key. Schemathesis is a Python program. It is installed once, into
 * an ignored folder, in the versions that requirements.txt pins.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { RECEIPT_WAIT_SECONDS_MAX } from '../../../src/http/limits.ts'
import { installPythonTool } from '../../../tools/python-tool.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { startFuzzed } from './deployment.ts'

type OpenApi = {
  readonly paths: Record<
    string,
    Record<string, { operationId: string; security?: Record<string, string[]>[] }>
  >
}

/** Maximum number of examples per operation and phase. With all phases a run takes about two minutes on two cores. */
const EXAMPLES_MAX = 25
/** Maximum time in seconds of an answer. A read that waits for a checkpoint answers after ten seconds at most. */
const ANSWER_SECONDS_MAX = RECEIPT_WAIT_SECONDS_MAX + 10

const FAULTS = /^=+ (?:ERRORS|FAILURES) =+$[\s\S]*?(?=^=+ (?:WARNINGS|SUMMARY) =+$)/m
const TOLD_LINES_MAX = 60

/**
 * These operations can invalidate the key with which Schemathesis sends requests. Then all later requests would get
 * 401.
 */
const ENDING = ['postAgentsByIdDisable', 'postKeysByIdRevoke', 'postKeysByIdRotate', 'putKeysByIdRateLimit']

const schemathesis = installPythonTool('schemathesis', join(import.meta.dirname, 'requirements.txt'))
const fuzzed = await startFuzzed()
try {
  const { operator, ledger } = await listOperations()
  const ending = ledger.filter((name) => ENDING.includes(name))
  if (ending.length !== ENDING.length) throw new Error(`of ${ENDING} only ${ending} are operations`)
  const runs = [
    await run(
      fuzzed.ledgerKey,
      ledger.filter((name) => !ENDING.includes(name)),
    ),
    await run(fuzzed.otherLedgerKey, ending),
    await run(fuzzed.operatorKey, operator),
  ]
  // The faults are printed again at the end, because a reader may see only the end of CI's output, where a later run
  // has passed.
  const told = runs.map(({ output }) => FAULTS.exec(output)?.[0] ?? '').join('')
  if (told !== '') console.log(told.split('\n').slice(0, TOLD_LINES_MAX).join('\n'))
  process.exitCode = Math.max(...runs.map(({ code }) => code))
} finally {
  await fuzzed.close()
}

/** Lists operations by the key that they need. Operations without a key are run with the ledger's key. */
async function listOperations(): Promise<{ operator: string[]; ledger: string[] }> {
  const { paths } = (await (await fetch(`${fuzzed.url}/openapi.json`)).json()) as OpenApi
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const byKey = Map.groupBy(operations, ({ security }) => security?.[0]?.['operatorKey'] !== undefined)
  const names = (ofOperator: boolean) => byKey.get(ofOperator)!.map(({ operationId }) => operationId)
  return { operator: names(true), ledger: names(false) }
}

async function run(key: string, operations: readonly string[]): Promise<{ code: number; output: string }> {
  const options = [
    ['--header', `Authorization: Bearer ${key}`],
    ['--checks', 'all'],
    ['--max-examples', String(EXAMPLES_MAX)],
    ['--request-timeout', String(ANSWER_SECONDS_MAX)],
    ['--max-response-time', String(ANSWER_SECONDS_MAX)],
    ['--generation-database', 'none'],
    ...operations.map((name) => ['--include-operation-id', name]),
  ].flat()
  const config = ['--config-file', join(import.meta.dirname, 'schemathesis.toml')]
  const args = [
    ...config,
    'run',
    `${fuzzed.url}/openapi.json`,
    '--no-color',
    ...options,
    ...process.argv.slice(2),
  ]
  const child = spawn(schemathesis, args, {
    cwd: temporaryDir(),
    env: { ...process.env, SCHEMATHESIS_HOOKS: join(import.meta.dirname, 'hooks.py') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    process.stdout.write(chunk)
  })
  return new Promise((resolve) => {
    const end = (code: number) => resolve({ code, output: Buffer.concat(chunks).toString() })
    child.on('error', () => end(1))
    child.on('close', (code) => end(code ?? 1))
  })
}
