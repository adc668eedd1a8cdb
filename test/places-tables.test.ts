import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { EVIDENCE } from '../src/db/evidence/tables.ts'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * Maximum number of files that may name a table of evidence: the table's own file and the list of all these tables.
 * Migrations do not count.
 */
const PLACES_MAX = 2

/** Modules that verify, audit and restore a ledger. */
const EVIDENCE_ROOMS = ['src/db/evidence', 'src/db/audit', 'src/verify', 'src/run/restore', 'src/db/ledgers']

/**
 * Maps a table to further files that may name it. These files restore a ledger, and use the rows of the table before
 * they write them.
 */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  CLOSURES: ['src/run/restore/entry-of-line.ts'],
  ERASURES: ['src/run/restore/restore-ledger.ts'],
}

test('each evidence table is named in at most two files', (t) => {
  const sources = EVIDENCE_ROOMS.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(room, name)),
  )
  const texts = new Map(sources.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
  const list = texts.get('src/db/evidence/tables.ts')!
  const faults: string[] = []
  for (const name of Object.keys(EVIDENCE)) {
    const definition = new RegExp(`\\b${name}: ([A-Z_]+),`).exec(list)![1]!
    const places = sources.filter((file) => new RegExp(`\\b${definition}\\b`).test(texts.get(file)!))
    const allowed = places.filter((file) => !ELSEWHERE[definition]?.includes(file))
    t.diagnostic(`${definition}: ${places.length} files`)
    if (allowed.length > PLACES_MAX) faults.push(`${definition}: ${allowed.join(', ')}`)
  }
  assert.deepEqual(faults, [])
})
