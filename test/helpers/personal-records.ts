import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportFile } from '../../src/verify/export-file.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { genericBody, type TestApp } from './app.ts'
import { temporaryDir } from './postgres.ts'

export const SECRET = 'a-name-that-must-go'
export const PERSONAL = { ...genericBody({ name: SECRET }), metadata: { note: SECRET } }
export const ERASE = { code: 'data_subject_request', reason: 'ticket 4711' }

export function erase(app: TestApp, id: string, body: unknown = ERASE, options: object = {}) {
  return app.send('DELETE', `/v1/records/${id}/payload`, body === null ? options : { ...options, body })
}

export async function postBatch(app: TestApp, count: number, headers: Record<string, string> = {}) {
  const body = { records: Array.from({ length: count }, () => PERSONAL) }
  return app.send('POST', '/v1/records/batch', { body, headers })
}

/** Returns the entries of an export, without the first and the last line. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
export function linesOf(text: string): any[] {
  return text
    .trimEnd()
    .split('\n')
    .slice(1, -1)
    .map((line) => JSON.parse(line))
}

export async function assertVerifies(app: TestApp): Promise<void> {
  const text = (await app.send('GET', '/v1/export')).body
  await assertIntact(text, linesOf(text).length)
}

export async function assertIntact(text: string, entries: number): Promise<void> {
  const file = join(temporaryDir(), 'export.ndjson')
  writeFileSync(file, text)
  const report = await verifyLedger(exportFile(file), { threads: 1 })
  assert.equal(report.failure, null)
  assert.equal(report.entries, entries)
}
