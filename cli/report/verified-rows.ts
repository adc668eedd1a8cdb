import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type BundleOptions, type BundleReport, checkBundle } from '../../sdk/verify/bundle.ts'
import type { ExportSource } from '../../sdk/verify/export-source.ts'
import { ROWS_BUFFER_CHARS } from './limits.ts'
import { type ReportRow, rowsOf } from './rows.ts'

/** A verified bundle with its rows, which can be read several times. */
export type VerifiedRows = { readonly report: BundleReport; readonly rows: () => AsyncIterable<ReportRow> }

/**
 * Verifies a bundle and calls `work` with its rows. While `work` runs, the rows are in a temporary file, because a
 * report reads them once for each control. The bundle itself is read only once, because another process could change
 * it. Throws VerificationError like checkBundle.
 */
export async function withVerifiedRows<Result>(
  source: ExportSource,
  given: Pick<BundleOptions, 'kids' | 'noteKey'>,
  work: (verified: VerifiedRows) => Promise<Result>,
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-report-'))
  try {
    const path = join(directory, 'rows')
    const report = await writeRows(path, source, given)
    return await work({ report, rows: () => readRows(path) })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function writeRows(
  path: string,
  source: ExportSource,
  given: Pick<BundleOptions, 'kids' | 'noteKey'>,
): Promise<BundleReport> {
  const file = openSync(path, 'wx', 0o600)
  const types = new Map<string, string>()
  let text = ''
  const write = () => {
    writeSync(file, text)
    text = ''
  }
  try {
    const report = await checkBundle(source, given, (entry) => {
      for (const row of rowsOf(entry, types)) text += `${JSON.stringify(row)}\n`
      if (text.length > ROWS_BUFFER_CHARS) write()
    })
    write()
    return report
  } finally {
    closeSync(file)
  }
}

async function* readRows(path: string): AsyncGenerator<ReportRow> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity }))
    yield JSON.parse(line) as ReportRow
}
